import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { isLong } from './src/long.ts'
import { hasSingleLanes, singleLanes } from './src/single-lanes.ts'
import { skipsMysql } from './src/test-environment.ts'

/** Workspace packages resolve to their sources, so tests need no build. */
const conditions = ['@looseleaf/source', 'module', 'node', 'development|production']

export default defineConfig({
  plugins: hasSingleLanes ? [singleLanes()] : [],
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['src/**/*.test.ts', 'src/**/*.test.tsx', 'test/**/*.test.ts', 'test/**/*.test.tsx'],
    exclude: [
      ...configDefaults.exclude,
      // The reporter at the root lists what is left out here.
      ...(skipsMysql ? ['**/*.int.test.{ts,tsx}'] : []),
      // It is about sharing alone, and waits for what never comes.
      ...(hasSingleLanes ? ['src/tools/lane.test.ts'] : []),
      ...(isLong ? [] : ['**/*.long.*test.ts']),
    ],
    globalSetup: fileURLToPath(new URL('./src/mariadb-setup.ts', import.meta.url)),
    setupFiles: [fileURLToPath(new URL('./src/drop-shards.ts', import.meta.url))],
    typecheck: { enabled: false },
    // Processes that tests start load hundreds of files of TypeScript; Node keeps what it has compiled of them here.
    env: {
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), 'looseleaf-compile-cache'),
    },
    // The tests wait for databases about as much as they compute: one worker more than there are cores keeps these busy. Vitest
    // does not pass this on from the root to the projects, and its own default leaves a machine of two cores with one.
    maxWorkers: availableParallelism() + 1,
    // Not expectations of speed: a limit for what hangs, wide enough for a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
