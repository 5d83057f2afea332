import shared from '@looseleaf-tooling/vitest'
import { LongestFirst } from '@looseleaf-tooling/vitest/longest-first'
import { tallyReporter } from '@looseleaf-tooling/vitest/reporter'
import { defineConfig } from 'vitest/config'

/** All packages in one project, because a worker keeps its modules for files of one project. */
export default defineConfig({
  ...shared,
  test: {
    ...shared.test,
    include: ['{packages,apps,tooling}/*/{src,test}/**/*.test.ts'],
    reporters: [['default', { summary: false }], tallyReporter()],
    sequence: { sequencer: LongestFirst },
  },
})
