import { LongestFirst } from '@looseleaf-tooling/vitest/longest-first'
import { tallyReporter } from '@looseleaf-tooling/vitest/reporter'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: ['packages/*/vitest.config.ts', 'apps/*/vitest.config.ts', 'tooling/*/vitest.config.ts'],
    reporters: [['default', { summary: false }], tallyReporter()],
    sequence: { sequencer: LongestFirst },
  },
})
