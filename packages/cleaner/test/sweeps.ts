import type { DataStore } from '@looseleaf/store'
import type { Tally } from '../src/pass/tally.ts'
import { tunedSweep } from '../src/sweep/sweep.ts'

type Options = Parameters<typeof tunedSweep>[1]

/** Sweeps from entities to rows alone. */
export const sweepEntities = (store: DataStore, options?: Options): Promise<Tally> =>
  tunedSweep(store, options, ['entities'])

/** Sweeps from rows to entities alone. */
export const sweepIndex = (store: DataStore, options?: Options): Promise<Tally> =>
  tunedSweep(store, options, ['rows'])
