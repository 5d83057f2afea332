import type { Codec, Randomness, Router, Time } from '@looseleaf/core'
import type { Gate, StoreEvents, VersionClock } from '@looseleaf/core/internal'
import type { Bodies } from './bodies/bodies.ts'
import type { CatalogHolder } from './catalog/catalog-holder.ts'
import type { StoreDriver } from './catalog/store-driver.ts'
import type { Closing } from './closing.ts'
import type { LoopShare } from './loop-share.ts'

/** The parts of an open store, for code below its public API: the cleaner, the command line, tests. */
export interface EngineContext {
  readonly driver: StoreDriver
  readonly router: Router
  /** Encodes bags. Use `bodies` to decode what is stored. */
  readonly codec: Codec
  readonly bodies: Bodies
  readonly time: Time
  readonly random: Randomness
  readonly clock: VersionClock
  readonly catalog: CatalogHolder
  readonly events: StoreEvents
  /** Passes a warning to `onWarning` of the store's program, by default to the process. Never throws. */
  readonly onWarning: (message: string) => void
  /** Admits the calls of the store, and counts those in flight. */
  readonly gate: Gate
  /** Share of background work in the event loop. Undefined for a store whose time is a test's. */
  readonly share: LoopShare | undefined
  /** Stops work that runs on these parts when the store closes. */
  readonly closing: Closing
}
