import type { Bench, OnStage } from '../bench.ts'
import type { Cell } from '../measure/sample.ts'
import type { ScenarioName } from '../workload/scenarios.ts'
import type { Part } from './part.ts'

const names: readonly ScenarioName[] = ['get', 'page', 'insert', 'update']

/** Returns the selected ones of the usual scenarios, or of those given. They have to be in the order of `scenarios`: reads first. */
export function usual(bench: Bench, among: readonly ScenarioName[] = names): readonly ScenarioName[] {
  const selected = bench.scenariosOf('entries')
  return among.filter((name) => selected.includes(name))
}

interface UsualPart {
  readonly description: string
  /** Default: the usual scenarios. */
  readonly scenarios?: readonly ScenarioName[]
  stages(bench: Bench): readonly OnStage[]
  /** Settings under which each scenario is measured on each stage. Default: the usual ones. */
  cells?(bench: Bench): readonly Partial<Cell>[]
}

/** Returns a part that measures the same scenarios on each of its stages. */
export function usualPart({ description, scenarios, stages, cells }: UsualPart): Part {
  return {
    description,
    async run(bench) {
      for (const stage of stages(bench))
        await bench.onStage(stage, async (_, measure) => {
          for (const scenario of usual(bench, scenarios))
            for (const cell of cells?.(bench) ?? [{}]) await measure(scenario, cell)
        })
    },
  }
}
