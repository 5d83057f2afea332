import { circumstances, saveResult, type Circumstances } from '@looseleaf-tooling/kit/results'
import type { SimulationOptions } from './simulation.ts'
import type { SimulationTotals } from './totals.ts'

/** A run over many seeds, as stored for the page on reliability. */
export interface SimulationResultFile extends Circumstances {
  readonly kind: 'simulation'
  readonly run: SimulationRun
}

export interface SimulationRun extends SimulationTotals {
  /** First and last seed. */
  readonly from: number
  readonly to: number
  readonly processes: number
  readonly seconds: number
  /** Work of the clients in all lives; undefined if each seed chooses. */
  readonly clients?: SimulationOptions['clients']
  /** Parts that all lives have; undefined if each seed chooses. */
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
