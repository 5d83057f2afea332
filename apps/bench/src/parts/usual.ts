import type { Bench } from '../bench.ts'
import type { ScenarioName } from '../workload/scenarios.ts'

const names: readonly ScenarioName[] = ['get', 'page', 'insert', 'update']

/** Returns the selected ones of the usual scenarios, or of those given. They have to be in the order of `scenarios`: reads first. */
export function usual(bench: Bench, among: readonly ScenarioName[] = names): readonly ScenarioName[] {
  const selected = bench.scenariosOf('entries')
  return among.filter((name) => selected.includes(name))
}
