import { setTimeout } from 'node:timers/promises'
import { runAsChild } from '../src/lab/child.ts'

/** A program that writes valid lines, or one invalid line, and ends. */
export interface WritingConfig {
  readonly breaks: boolean
}

runAsChild<WritingConfig, { readonly n: number }>(
  async (child) => {
    child.ready()
    // JSON.stringify returns undefined for it.
    if (child.config.breaks) return child.recorder.write(undefined as never)
    while (!child.isStopping) {
      child.recorder.write({ n: child.nextNumber() })
      await setTimeout(1)
    }
  },
  (record) => record !== undefined,
  () => undefined,
)
