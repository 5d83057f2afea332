import { badArgument, copyBag, isPlainObject, isPromise, LooseleafError } from '@looseleaf/core'
import { unchanged } from '@looseleaf/store'
import { takeValue } from './reference.ts'
import { unset } from './unset.ts'

/** A patch as it was given: an object, of which later changes say nothing, or a function of the entity. */
export interface GivenPatch {
  readonly id: unknown
  readonly version: number | undefined
  /** True where its values may come from an entity that was read. */
  readonly mayBeOutput: boolean
  /** The properties that change; undefined for none. */
  of(show: () => object): object | undefined
}

/** Throws `BAD_OPTION` for no patch, and `BAD_PROPERTY` for values that cannot be stored, undefined among them. */
export function takePatch(call: string, patch: unknown): GivenPatch {
  if (typeof patch === 'function') {
    const made = patch as (shown: object) => unknown
    return {
      id: undefined,
      version: undefined,
      mayBeOutput: true,
      of: (show) => unlessEmpty(call, returned(call, made(show()))),
    }
  }
  const { id, version, properties } = takeValue(call, patch)
  const copy = unlessEmpty(call, properties) && copyPatch(properties)
  return { id, version, mayBeOutput: version !== undefined, of: () => copy }
}

/** Undefined for `unchanged`: the entity is left as it is. */
function returned(call: string, made: unknown): object | undefined {
  if (made === unchanged) return undefined
  if (isPlainObject(made)) return made
  // Its error would end the process, for nobody else handles it.
  if (isPromise(made)) made.then(undefined, () => {})
  throw badArgument(
    call,
    'a function that returns the properties that change, or `unchanged` to leave the entity as it is',
    made,
  )
}

/** A patch that changes nothing writes nothing. Undefined is not taken for a wish to remove: it is what a missing field of a form gives. */
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
