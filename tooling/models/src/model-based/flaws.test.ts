import fc from 'fast-check'
import { expect, test } from 'vitest'
import { flawedBackend, flaws } from './flaws.ts'
import { modelProperty } from './check-model.ts'
import { testTimeout } from './settings.ts'

test.each(Object.keys(flaws))(
  'the model notices when %s',
  async (name) => {
    // Always the same histories: the test is of the model, which notices most flaws in the first one or two.
    const { failed } = await fc.check(modelProperty([flawedBackend(name)], 60), {
      numRuns: 40,
      seed: 8,
      endOnFailure: true,
    })
    expect(failed).toBe(true)
  },
  testTimeout(),
)
