import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { isLong } from './src/long.ts'
import { hasSingleLanes, singleLanes } from './src/single-lanes.ts'
import { skipsMysql } from './src/test-environment.ts'

/** Resolves workspace packages to their sources, so that tests need no build. */
const conditions = ['@looseleaf/source', 'module', 'node', 'development|production']

const pathOf = (module: string): string => fileURLToPath(new URL(module, import.meta.url))

export default defineConfig({
  plugins: hasSingleLanes ? [singleLanes()] : [],
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['src/**/*.test.ts', 'src/**/*.test.tsx', 'test/**/*.test.ts', 'test/**/*.test.tsx'],
    exclude: [
      ...configDefaults.exclude,
      // The root's reporter lists these files as skipped.
      ...(skipsMysql ? ['**/*.int.test.{ts,tsx}'] : []),
      // This file tests sharing itself, and would wait for ever.
      ...(hasSingleLanes ? ['**/src/tools/lane.test.ts'] : []),
      ...(isLong ? [] : ['**/*.long.*test.ts']),
    ],
    globalSetup: ['./src/mariadb-setup.ts', './src/temporary-folder.ts'].map(pathOf),
    setupFiles: ['./src/use-temporary-folder.ts', './src/use-jsx.ts', './src/drop-shards.ts'].map(pathOf),
    typecheck: { enabled: false },
    // A worker loads the modules once for all of its files of a project, which often takes longer than the tests.
    isolate: false,
    // V8's usual 16 MiB for young objects costs processor time: tests make many of them.
    execArgv: ['--max-semi-space-size=64'],
    // A spy on `process` would hide the warnings of later files.
    restoreMocks: true,
    // Node itself loads the TypeScript files, as in production and in child processes. A transform by Vite takes as
    // long as the tests of many files. Only the plugin of single lanes needs it.
    experimental: { viteModuleRunner: hasSingleLanes },
    // Child processes load hundreds of TypeScript files; Node caches the compiled ones here.
    env: {
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), 'looseleaf-compile-cache'),
    },
    // Tests wait for databases and processes about as much as they compute, so some workers more than there are cores
    // keep these busy. The default of Vitest is one worker on two cores.
    maxWorkers: availableParallelism() + 4,
    // Only a limit for hanging tests, wide enough for a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
