import { setTimeout } from 'node:timers/promises'
import { runAsChild } from '../src/child.ts'

/** A program that writes a line now and then, or one line that is none, and ends. */
export interface WritingConfig {
  readonly breaks: boolean
}

runAsChild<WritingConfig, { readonly n: number }>(
  async (child) => {
    child.ready()
    // What JSON makes nothing of.
    if (child.config.breaks) return child.recorder.write(undefined as never)
    while (!child.isStopping) {
      child.recorder.write({ n: child.nextNumber() })
      await setTimeout(1)
    }
  },
  (record) => record !== undefined,
  () => undefined,
)
