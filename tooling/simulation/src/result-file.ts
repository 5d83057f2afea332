import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SimulationTotals } from './totals.ts'

/** Git-ignored, beside the results of the fault runs. */
export const RESULT_FILE: string = fileURLToPath(
  new URL('../../../.data/faults/simulation.json', import.meta.url),
)

/** A run over many seeds, as it is kept for the page on reliability. */
export interface SimulationResultFile {
  readonly kind: 'simulation'
  /** When it ended, in ISO 8601. */
  readonly at: string
  readonly node: string
  readonly cpus: number
  /** `unknown` outside a checkout. */
  readonly commit: string
  readonly run: SimulationRun
}

export interface SimulationRun extends SimulationTotals {
  /** The first and the last seed. */
  readonly from: number
  readonly to: number
  readonly processes: number
  readonly seconds: number
}

export function saveSimulation(run: SimulationRun): SimulationResultFile {
  const file: SimulationResultFile = {
    kind: 'simulation',
    at: new Date().toISOString(),
    node: process.version,
    cpus: availableParallelism(),
    commit: commit(),
    run,
  }
  mkdirSync(dirname(RESULT_FILE), { recursive: true })
  writeFileSync(RESULT_FILE, `${JSON.stringify(file, null, 2)}\n`)
  return file
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    return 'unknown'
  }
}
