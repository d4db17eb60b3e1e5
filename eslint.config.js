import tseslint from 'typescript-eslint';

/** Who may import whom: package -> the workspace packages it may import (ARCHITECTURE.md, "Packages"). */
const mayImport = {
  'cri-api': [],
  'runtime-containerd': [],
  'network-cni': [],
  'pod-sync': ['cri-api'],
  'shim-server': ['cri-api', 'runtime-containerd', 'network-cni'],
  cli: ['cri-api', 'pod-sync', 'shim-server'],
};

const importDirections = Object.entries(mayImport).map(([name, allowed]) => ({
  files: [`packages/${name}/**/*.ts`],
  rules: {
    'no-restricted-imports': [
      'error',
      {
        patterns: [
          {
            regex: `^@criquet/(?!(${[name, ...allowed].join('|')})(/|$))`,
            message: `${name} may import only: ${allowed.join(', ') || 'no other package of this workspace'}`,
          },
          { regex: `\\.\\./.*packages/|^(\\.\\./){3,}[a-z-]+/src/`, message: 'import a package by its name' },
          ...(name === 'shim-server' ? [] : [{ regex: '^tsyringe$', message: 'only shim-server knows dependency injection' }]),
        ],
      },
    ],
  },
}));

export default tseslint.config(
  { ignores: ['**/dist/**', '**/src/gen/**', '**/node_modules/**', '**/.tap/**', 'results/**', '.criquet/**'] },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
  {
    // tap's own `test` and `t.test` return promises that the runner awaits.
    files: ['**/*.test.ts'],
    rules: {
      '@typescript-eslint/no-floating-promises': [
        'error',
        { allowForKnownSafeCalls: [{ from: 'package', package: '@tapjs/test', name: ['test', 'teardown'] }, { from: 'package', package: 'tap', name: 'test' }] },
      ],
    },
  },
  ...importDirections,
);
