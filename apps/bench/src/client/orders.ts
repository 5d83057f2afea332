import type { SideName } from '../sides/side-names.ts'
import type { DataSetOptions } from '../workload/data-set.ts'
import type { ScenarioName } from '../workload/scenarios.ts'
import type { Shares } from './profile.ts'
import type { Run } from './run-callers.ts'

/** Order to a client process. All but `stop` are sent one after another. */
export type Order = OpenOrder | FillOrder | PrepareOrder | RunOrder | StopOrder | SettleOrder

/** Connects to the databases of a data set. It has to be the first order. */
export interface OpenOrder {
  readonly kind: 'open'
  readonly data: DataSetOptions
  /** Number of this client among those of the data set, from 0. */
  readonly process: number
  readonly sides: readonly { readonly name: SideName; readonly databases: readonly string[] }[]
}

export interface FillOrder {
  readonly kind: 'fill'
  readonly side: SideName
  /** Range of entry numbers; `to` is exclusive. */
  readonly from: number
  readonly to: number
  readonly profile?: true
}

/** Creates the entries that this many calls of a scenario use up, before the clock and the meters run. */
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
  /** Seconds of uncounted calls before the counted ones. */
  readonly runIn?: number
  /** Calls a second. Without it, each caller makes its next call when the previous one was answered. */
  readonly rate?: number | undefined
  readonly profile?: true
}

/** Waits for all delayed work of a side, so that it does not fall into the turn of the next side. */
export interface SettleOrder {
  readonly kind: 'settle'
  readonly side: SideName
}

/** Ends the current run at a rate. */
export interface StopOrder {
  readonly kind: 'stop'
}

export interface RunReport extends Run {
  /** CPU of this process during the counted calls, in µs. */
  readonly clientCpu: number
  /** Peak memory of this process since its start, in MiB. */
  readonly memoryMiB: number
  /** Present if the order asked for a profile. */
  readonly shares?: Shares
}

export type Answer = { readonly report?: RunReport } | { readonly error: string }
