import { defineConfig } from 'vitest/config'

// Not the settings of the other packages: those start their servers with this one.
export default defineConfig({
  test: { include: ['src/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 },
})
