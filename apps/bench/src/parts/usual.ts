import type { Bench } from '../bench.ts'
import type { ScenarioName } from '../workload/scenarios.ts'

const names: readonly ScenarioName[] = ['get', 'page', 'insert', 'update']

/** The calls that parts vary something for; reads first, as `scenarios` has it. */
export function usual(bench: Bench, among: readonly ScenarioName[] = names): readonly ScenarioName[] {
  const asked = bench.scenariosOf('entries')
  return among.filter((name) => asked.includes(name))
}
