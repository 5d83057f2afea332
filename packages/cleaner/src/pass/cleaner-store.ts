import type { EngineContext } from '@looseleaf/index-engine/internal'

/** The store that is cleaned, such as a `DataStore`. */
export interface CleanerStore {
  readonly context: EngineContext
}
