import shared from '@looseleaf-tooling/vitest'
import { LongestFirst } from '@looseleaf-tooling/vitest/longest-first'
import { tallyReporter } from '@looseleaf-tooling/vitest/reporter'
import { defineConfig, type TestProjectConfiguration } from 'vitest/config'

/** All packages without JSX. A worker keeps its modules for files of one project, so they are one project. */
const packages: TestProjectConfiguration = {
  ...shared,
  test: {
    ...shared.test,
    name: 'packages',
    include: ['{packages,apps,tooling}/*/{src,test}/**/*.test.ts'],
    exclude: [...(shared.test?.exclude ?? []), 'apps/feed/**'],
  },
}

export default defineConfig({
  test: {
    projects: ['apps/feed/vitest.config.ts', packages],
    reporters: [['default', { summary: false }], tallyReporter()],
    sequence: { sequencer: LongestFirst },
  },
})
