import type { Bag, EntityId } from '@looseleaf/core'
import { counted } from '@looseleaf/core/internal'
import type { NearKey } from '@looseleaf/index-engine'
import type { AnyKind } from '@looseleaf/kinds'
import { clip } from '../output/text.ts'

/** Largest number of unknown kinds that a warning names. */
const MAX_NAMED = 5

/** Checks bags against the schemas of their kinds, and remembers bags of no kind. */
export interface KindCheck {
  /** Returns the bag to store: unchanged for a bag of no kind. Throws `SCHEMA_MISMATCH`. */
  check(bag: Bag): Bag
  /** Returns the key in whose bucket a new entity with this bag belongs; undefined for a kind without `near`. Throws `BAD_PROPERTY`. */
  placeOf(bag: Bag): NearKey | undefined
  /**
   * Returns one warning about all bags of no kind, with up to five values of their `_kind` and the kinds of the config.
   * Empty without such bags. `noun` is the word for a bag of the input.
   */
  warnings(noun: 'entity' | 'line'): readonly string[]
}

/** Returns undefined without kinds. */
export function kindCheck(kinds: readonly AnyKind[]): KindCheck | undefined {
  if (kinds.length === 0) return undefined
  let others = 0
  const named = new Set<string>()
  const kindOf = (bag: Bag): AnyKind | undefined => kinds.find(({ shape }) => shape.isOf(bag))
  return {
    check(bag) {
      const kind = kindOf(bag)
      if (kind === undefined) {
        others++
        if (named.size <= MAX_NAMED) named.add(kindText(bag['_kind']))
        return bag
      }
      const { id, ...properties } = bag
      const taken = kind.shape.taken(properties, typeof id === 'string' ? (id as EntityId) : undefined)
      return id === undefined ? taken : { id, ...taken }
    },
    placeOf: (bag) => kindOf(bag)?.near?.placeOf(bag),
    warnings(noun) {
      if (others === 0) return []
      const subject = noun === 'entity' ? 'The entity is' : counted(others, 'line is', 'lines are')
      const texts = [...named].map((text, i) => (i < MAX_NAMED ? text : '…'))
      const names = kinds.map(({ name }) => name).join(', ')
      return [
        `${subject} of no kind of the config ("_kind": ${texts.join(', ')}), so no kind finds ${others === 1 ? 'it' : 'them'}. The config has ${kinds.length === 1 ? 'the kind' : 'the kinds'} ${names}.`,
      ]
    },
  }
}

function kindText(kind: unknown): string {
  if (kind === undefined) return 'none'
  return typeof kind === 'string' ? JSON.stringify(clip(kind, 40)) : 'not a text'
}
