import { defineConfig } from 'vitest/config'

// The shared settings would start servers with this package.
export default defineConfig({
  test: { include: ['src/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 },
})
