import { runsOf } from '@looseleaf-tooling/vitest/long'
import type { Parameters } from 'fast-check'

const { LOOSELEAF_MODEL_RUNS, LOOSELEAF_MODEL_SEED, LOOSELEAF_MODEL_PATH, LOOSELEAF_MODEL_REPLAY } =
  process.env

/** Position of a failing run in the commands; see the README. */
export const replayPath: string | undefined = LOOSELEAF_MODEL_REPLAY

/**
 * Returns settings for fast-check: `runs` histories, a third in a short run, or `LOOSELEAF_MODEL_RUNS`
 * times as many if that is set. A given seed repeats its histories.
 */
export function propertySettings(runs: number): Parameters<unknown> {
  return {
    numRuns: runsOf(runs * factor()),
    // A failing history is long. Shrinking may take minutes, not hours.
    interruptAfterTimeLimit: 60_000 + 20_000 * factor(),
    markInterruptAsFailure: false,
    ...(LOOSELEAF_MODEL_SEED === undefined ? {} : { seed: Number(LOOSELEAF_MODEL_SEED) }),
    ...(LOOSELEAF_MODEL_PATH === undefined ? {} : { path: LOOSELEAF_MODEL_PATH }),
  }
}

/** Returns the time in milliseconds after which a test counts as hanging. */
export function testTimeout(): number {
  return 120_000 + 60_000 * factor()
}

function factor(): number {
  const runs = Number(LOOSELEAF_MODEL_RUNS ?? 1)
  return Number.isFinite(runs) && runs >= 1 ? runs : 1
}
