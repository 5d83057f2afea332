import type { EngineContext } from '@looseleaf/index-engine/internal'

/** The store whose changes are followed, such as a `DataStore`. */
export interface ChangesStore {
  readonly context: EngineContext
}
