import { circumstances, saveResult, type Circumstances } from '@looseleaf-tooling/results'
import type { SimulationOptions } from './simulation.ts'
import type { SimulationTotals } from './totals.ts'

/** A run over many seeds, as it is kept for the page on reliability. */
export interface SimulationResultFile extends Circumstances {
  readonly kind: 'simulation'
  readonly run: SimulationRun
}

export interface SimulationRun extends SimulationTotals {
  /** The first and the last seed. */
  readonly from: number
  readonly to: number
  readonly processes: number
  readonly seconds: number
  /** What clients do in all of these lives; undefined where each seed chooses. */
  readonly clients?: SimulationOptions['clients']
  /** What all of these lives have; undefined where it is in some of them. */
  readonly parts?: SimulationOptions['parts']
}

export function saveSimulation(run: SimulationRun): void {
  const file: SimulationResultFile = { kind: 'simulation', ...circumstances(), run }
  const words = [
    file.kind,
    ...(run.clients === undefined ? [] : ['of', run.clients]),
    ...(run.parts === undefined ? [] : ['with', ...run.parts]),
  ]
  saveResult('faults', words.join(' '), file)
}
