import type { Backend, BackendName } from './backends/backend.ts'
import { compare, type Comparison } from './measure/compare.ts'
import { createDataSet } from './workload/data-set.ts'
import { scenarios, type ScenarioName } from './workload/scenarios.ts'

export interface BenchOptions {
  readonly only: readonly ScenarioName[]
  readonly callers: readonly number[]
  readonly rounds: number
  readonly seconds: number
  readonly entries: number
  readonly users: number
  readonly seed: number
}

export interface ScenarioResult extends Comparison {
  readonly scenario: ScenarioName
  readonly callers: number
}

export interface BackendResult {
  readonly backend: BackendName
  readonly title: string
  readonly facts: Backend['facts']
  readonly scenarios: readonly ScenarioResult[]
}

/** Fills the backend's databases and measures every scenario with every number of callers. */
export async function runBench(
  backend: Backend,
  options: BenchOptions,
  onProgress: (what: string) => void = () => {},
): Promise<BackendResult> {
  onProgress(`${backend.title}: writing ${options.entries} entries`)
  const data = await createDataSet(backend.sides[0], options)
  const results: ScenarioResult[] = []
  for (const name of options.only) {
    for (const callers of options.callers) {
      onProgress(`${backend.title}: ${name}, ${callers} ${callers === 1 ? 'caller' : 'callers'}`)
      const comparison = await compare({
        sides: backend.sides,
        call: (side) => scenarios[name].call(side, data),
        callers,
        rounds: options.rounds,
        seconds: options.seconds,
        server: backend.server,
      })
      results.push({ scenario: name, callers, ...comparison })
    }
  }
  return { backend: backend.name, title: backend.title, facts: backend.facts, scenarios: results }
}
