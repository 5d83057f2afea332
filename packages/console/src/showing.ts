import type { Bag, EntityId } from '@looseleaf/core'
import type { InspectedValue } from '@looseleaf/store'
import { markup, type Html } from './html.ts'
import { valueText } from './value-text.ts'

/** Whether the values of an entity may be shown. */
export type MayShow = (bag: Bag, id: EntityId) => boolean

/** Nothing is shown unless the application has said true, and nothing else, of that very bag. */
export function isShown(mayShow: MayShow | undefined, bag: Bag | undefined, id: EntityId): bag is Bag {
  return bag !== undefined && mayShow?.(bag, id) === true
}

/** The values of an index row; undefined where they may not be shown. */
export function keyText(key: readonly InspectedValue[] | undefined): Html {
  if (key === undefined) return markup`<span class="soft">not shown</span>`
  return markup`<code>${key.map(({ column, value }, i) => markup`${i > 0 ? ', ' : ''}${column}: ${value === undefined ? 'a long text, kept as its beginning and a digest' : valueText(value)}`)}</code>`
}

export function entityLink(base: string, id: EntityId): Html {
  return markup`<a href="${base}/entity/${id}">${id}</a>`
}
