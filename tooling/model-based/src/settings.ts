import { isLong } from '@looseleaf-tooling/vitest/long'
import type { Parameters } from 'fast-check'

const { LOOSELEAF_MODEL_RUNS, LOOSELEAF_MODEL_SEED, LOOSELEAF_MODEL_PATH, LOOSELEAF_MODEL_REPLAY } =
  process.env

/** The part of a failing run that only the commands know; see the README. */
export const replayPath: string | undefined = LOOSELEAF_MODEL_REPLAY

/**
 * Settings of fast-check: `runs` histories, half of them in a short run, or `LOOSELEAF_MODEL_RUNS` times as many for every one of them when that is
 * set. A seed of one's own runs the same histories again.
 */
export function propertySettings(runs: number): Parameters<unknown> {
  return {
    numRuns: Math.ceil((isLong ? runs : runs / 2) * factor()),
    // A history that fails is long; shrinking it is worth some minutes, not hours.
    interruptAfterTimeLimit: 60_000 + 20_000 * factor(),
    markInterruptAsFailure: false,
    ...(LOOSELEAF_MODEL_SEED === undefined ? {} : { seed: Number(LOOSELEAF_MODEL_SEED) }),
    ...(LOOSELEAF_MODEL_PATH === undefined ? {} : { path: LOOSELEAF_MODEL_PATH }),
  }
}

/** How long a test may take before it is taken to hang. */
export function testTimeout(): number {
  return 120_000 + 60_000 * factor()
}

function factor(): number {
  const runs = Number(LOOSELEAF_MODEL_RUNS ?? 1)
  return Number.isFinite(runs) && runs >= 1 ? runs : 1
}
