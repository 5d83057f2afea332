import { availableParallelism } from 'node:os'
import { tallyReporter } from '@looseleaf-tooling/vitest/reporter'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: ['packages/*/vitest.config.ts', 'apps/*/vitest.config.ts', 'tooling/*/vitest.config.ts'],
    // One pool for all packages. The tests wait for databases about as much as they compute, so every core has a worker.
    maxWorkers: Math.max(2, availableParallelism()),
    reporters: [['default', { summary: false }], tallyReporter()],
  },
})
