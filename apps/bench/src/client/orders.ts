import type { SideName } from '../sides/side-names.ts'
import type { DataSetOptions } from '../workload/data-set.ts'
import type { ScenarioName } from '../workload/scenarios.ts'
import type { Shares } from './profile.ts'
import type { Run } from './run-callers.ts'

/** What a client process is told to do, one after another. */
export type Order = OpenOrder | FillOrder | PrepareOrder | RunOrder | StopOrder | SettleOrder

/** Connects to the databases of a data set; before anything else. */
export interface OpenOrder {
  readonly kind: 'open'
  readonly data: DataSetOptions
  /** Numbers the clients of a data set, from 0. */
  readonly process: number
  readonly sides: readonly { readonly name: SideName; readonly databases: readonly string[] }[]
}

export interface FillOrder {
  readonly kind: 'fill'
  readonly side: SideName
  /** Entries by their numbers; the last one is not included. */
  readonly from: number
  readonly to: number
  readonly profile?: true
}

/** For a scenario that uses up what it needs: makes as much, before the clock and the meters run. */
export interface PrepareOrder {
  readonly kind: 'prepare'
  readonly side: SideName
  readonly scenario: ScenarioName
  readonly calls: number
}

export interface RunOrder {
  readonly kind: 'run'
  readonly side: SideName
  readonly scenario: ScenarioName
  readonly callers: number
  readonly seconds: number
  /** Seconds before these, which are not counted. */
  readonly runIn?: number
  /** Calls a second; without it, each caller makes its next call when the one before was answered. */
  readonly rate?: number | undefined
  readonly profile?: true
}

/** Waits until all is done that a side has put off, for the next one's turn. */
export interface SettleOrder {
  readonly kind: 'settle'
  readonly side: SideName
}

/** Ends the run at a rate that is under way. */
export interface StopOrder {
  readonly kind: 'stop'
}

export interface RunReport extends Run {
  /** µs of CPU that the process took meanwhile. */
  readonly clientCpu: number
  /** The greatest memory of the process up to now, in MiB. */
  readonly memoryMiB: number
  /** Of a run that was profiled. */
  readonly shares?: Shares
}

export type Answer = { readonly report?: RunReport } | { readonly error: string }
