import { copyBag, LooseleafError, type Bag, type EntityId } from '@looseleaf/core'
import { badArgument, isPlainObject, isPromise } from '@looseleaf/core/internal'
import { unchanged } from '@looseleaf/store'
import { parseReference, parseValue } from './reference.ts'
import type { Shape } from './shape.ts'
import { unset } from './unset.ts'

/** A checked patch: a copy of the object form, or an edit. */
export interface ParsedPatch {
  readonly id: unknown
  readonly version: number | undefined
  /** True if its values may come from an item, so that the schema may have been applied to them. */
  readonly mayBeOutput: boolean
  /** Returns the properties to change; undefined for none. `show` returns the current entity for an edit. */
  of(show: () => object): object | undefined
}

/**
 * Checks a patch. Throws `BAD_OPTION` for an invalid one, and `BAD_PROPERTY` for undefined, for values that cannot be stored, and for an
 * object whose names are all unknown to the kind.
 */
export function parsePatch(call: string, patch: unknown, shape: Pick<Shape, 'requireNames'>): ParsedPatch {
  if (typeof patch === 'function') {
    const edit = patch as (shown: object) => unknown
    return {
      id: undefined,
      version: undefined,
      mayBeOutput: true,
      of: (show) => unlessEmpty(call, checkResult(call, edit(show()))),
    }
  }
  const { id, version, properties } = parseValue(call, patch)
  const copy = unlessEmpty(call, properties) && copyPatch(properties)
  if (copy !== undefined) shape.requireNames(copy)
  return { id, version, mayBeOutput: version !== undefined, of: () => copy }
}

/** The checked arguments of `update`. */
interface ParsedUpdate {
  readonly id: EntityId
  readonly ifVersion: number | undefined
  readonly edit: (bag: Bag) => Bag | typeof unchanged
}

/** Checks the arguments of `update`. Throws the errors of `parseReference` and `parsePatch`, and `BAD_ID` for a patch of another entity. */
export function parseUpdate(of: unknown, patch: unknown, shape: Shape): ParsedUpdate {
  const { id, version } = parseReference('update', of)
  const { mayBeOutput, ...parsed } = parsePatch('update', patch, shape)
  if (parsed.id !== undefined && parsed.id !== id) {
    throw new LooseleafError('BAD_ID', `The patch given for ${shape.name} ${id} has another id.`, {
      entity: id,
    })
  }
  const origin = { entity: id, mayBeOutput }
  return {
    id,
    ifVersion: version ?? parsed.version,
    edit: (bag) => shape.patched(bag, parsed.of, origin) ?? unchanged,
  }
}

/** Checks the result of an edit. Returns undefined for `unchanged`. */
function checkResult(call: string, result: unknown): object | undefined {
  if (result === unchanged) return undefined
  if (isPlainObject(result)) return result
  // An unhandled rejection would end the process.
  if (isPromise(result)) result.then(undefined, () => {})
  throw badArgument(
    call,
    'a function that returns the properties that change, or `unchanged` to leave the entity as it is',
    result,
  )
}

/** Returns undefined for an empty patch. Refuses undefined values: a missing field of a form must not remove a property. */
function unlessEmpty(call: string, patch: object | undefined): object | undefined {
  if (patch === undefined) return undefined
  const properties = Object.entries(patch)
  for (const [name, value] of properties) {
    if (value !== undefined) continue
    throw new LooseleafError(
      'BAD_PROPERTY',
      `${call} got a patch whose ${JSON.stringify(name.slice(0, 60))} is undefined. Leave the name out to keep the property, or give \`unset\` to remove it.`,
    )
  }
  return properties.length === 0 ? undefined : patch
}

function copyPatch(patch: object): object {
  const copied = Object.entries(patch).map(([name, value]): [string, unknown] => [
    name,
    value === unset ? unset : copyBag({ [name]: value as unknown })[name],
  ])
  return Object.fromEntries(copied)
}
