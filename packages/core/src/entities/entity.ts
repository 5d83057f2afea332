import type { Bag } from './bag.ts'
import type { EntityId } from './entity-id.ts'
import { Itself } from './itself.ts'

/** An entity as a store returns it: its properties, and its id under the reserved name `id`. */
export type Entity<B = Bag> = { readonly id: EntityId } & B

/** Version and time of an entity. */
export interface EntityMeta {
  /** Grows with every write, see `ifVersion`. */
  readonly version: number
  /** Time of the last write by the database's clock. */
  readonly updated: Date
}

class Stamp extends Itself {
  readonly #version: number
  readonly #updatedMs: number
  constructor(entity: object, version: number, updatedMs: number) {
    super(entity)
    this.#version = version
    this.#updatedMs = updatedMs
  }
  static of(entity: object): EntityMeta | undefined {
    // Few callers ask for it, so the object is created here rather than at each read.
    return #version in entity ? { version: entity.#version, updated: new Date(entity.#updatedMs) } : undefined
  }
}

interface Stamps {
  set(entity: object, version: number, updatedMs: number): void
  of(entity: object): EntityMeta | undefined
}

const registered: unique symbol = Symbol.for('looseleaf.stamps')

/**
 * The stamps of the copy of this package that was loaded first, because a private field is visible to its own copy only. So a kind of one copy
 * reads the entities of a store of another. Copies of different versions share them: a change of these functions needs another symbol.
 */
const stamps = ((globalThis as { [registered]?: Stamps })[registered] ??= {
  set(entity, version, updatedMs) {
    // oxlint-disable-next-line no-new -- the constructor stamps the entity
    new Stamp(entity, version, updatedMs)
  },
  of: Stamp.of,
})

/** Attaches the version and the time (ms since 1970) to an entity that a store has just read. Called by stores only. */
export function setMeta(entity: object, version: number, updatedMs: number): void {
  stamps.set(entity, version, updatedMs)
}

/** Returns the version and the time of an entity that a store has read; undefined for any other value, such as a copy. */
export function metaOf(entity: object): EntityMeta | undefined {
  // Callers may pass the undefined that `get` returned.
  return typeof entity === 'object' && entity !== null ? stamps.of(entity) : undefined
}
