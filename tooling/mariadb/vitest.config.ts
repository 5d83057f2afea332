import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// The shared settings would start servers with this package.
export default defineConfig({
  test: {
    include: ['src/**/*.test.ts'],
    experimental: { viteModuleRunner: false },
    isolate: false,
    restoreMocks: true,
    // All packages have the same number. Otherwise these files run after all others, one by one.
    maxWorkers: availableParallelism() + 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
