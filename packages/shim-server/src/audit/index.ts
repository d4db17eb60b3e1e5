/** What of criquet is on a node, and what of it has no owner. */
export { auditNode, type AuditNodeOptions, type NodeAudit } from './audit-node.js';
export type { AuditedHolding, AuditProblem, AuditReport, HoldingState } from './audit.js';
export { HOLDING_KINDS, type HoldingKind } from './holding.js';
