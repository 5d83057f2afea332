import fc from 'fast-check'
import { expect, test } from 'vitest'
import { flawedBackend, flaws } from './flaws.ts'
import { modelProperty } from './check-model.ts'
import { testTimeout } from './settings.ts'

test.each(Object.keys(flaws))(
  'the model notices when %s',
  async (name) => {
    // Always the same histories: what is tested is the model, and it is to notice in few of them.
    const { failed } = await fc.check(modelProperty([flawedBackend(name)], 60), {
      numRuns: 40,
      seed: 20_090_227,
      endOnFailure: true,
    })
    expect(failed).toBe(true)
  },
  testTimeout(),
)
