import type { KubernetesObject } from './kubectl.js';

/** The address of the cluster's DNS Service, which kubelets tell their pods. */
export const DNS_ADDRESS = '10.96.0.10';
export const DNS_DOMAIN = 'cluster.local';

const NAMESPACE = 'kube-system';
const NAME = 'coredns';

/** Answers for the cluster's own names only: there is nobody to ask for others. */
const COREFILE = `.:53 {
  errors
  health
  ready
  kubernetes ${DNS_DOMAIN} in-addr.arpa ip6.arpa {
    pods insecure
    fallthrough in-addr.arpa ip6.arpa
    ttl 30
  }
  cache 30
  loadbalance
}
`;

/**
 * CoreDNS as a Deployment of one pod, with its Service, configuration and rights.
 *
 * @param image for example `registry.k8s.io/coredns/coredns:v1.14.6`
 */
export function clusterDns(image: string): KubernetesObject[] {
  const labels = { 'k8s-app': 'kube-dns' };
  const metadata = { name: NAME, namespace: NAMESPACE, labels };
  const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `system:${NAME}` };
  const watch = ['list', 'watch'];
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: role.name },
      rules: [
        { apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'], verbs: watch },
        { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: watch },
      ],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: role.name },
      roleRef: role,
      subjects: [{ kind: 'ServiceAccount', name: NAME, namespace: NAMESPACE }],
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { Corefile: COREFILE } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: NAME,
            dnsPolicy: 'Default',
            containers: [
              {
                name: NAME,
                image,
                args: ['-conf', '/etc/coredns/Corefile'],
                volumeMounts: [{ name: 'config', mountPath: '/etc/coredns', readOnly: true }],
                ports: [
                  { name: 'dns', containerPort: 53, protocol: 'UDP' },
                  { name: 'dns-tcp', containerPort: 53, protocol: 'TCP' },
                ],
                livenessProbe: { httpGet: { path: '/health', port: 8080 }, periodSeconds: 10 },
                readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
                securityContext: {
                  allowPrivilegeEscalation: false,
                  readOnlyRootFilesystem: true,
                  capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
                },
              },
            ],
            volumes: [{ name: 'config', configMap: { name: NAME } }],
          },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { ...metadata, name: 'kube-dns' },
      spec: {
        clusterIP: DNS_ADDRESS,
        selector: labels,
        ports: [
          { name: 'dns', port: 53, protocol: 'UDP' },
          { name: 'dns-tcp', port: 53, protocol: 'TCP' },
        ],
      },
    },
  ];
}
