import { LooseleafError, type Bag, type EntityId } from '@looseleaf/core'
import { describeKind, onRejected, isPromise } from '@looseleaf/core/internal'
import type { InspectedValue } from '@looseleaf/store/internal'
import { markup, type Html } from '../kit/html.ts'
import { valueText } from './value-text.ts'

/** Tells whether the values of an entity may be shown. */
export type MayShow = (bag: Bag, id: EntityId) => boolean

/** Functions whose error was already reported. An error usually recurs with every entity, and one warning is enough. */
const reported = new WeakSet<MayShow>()

/** Warns the application. The error may contain values of the bag, so it never appears on a page. */
function warn(error: unknown): void {
  process.emitWarning(`mayShow of a console failed: ${String(error)}`, 'LooseleafWarning')
}

/** Tells whether `mayShow` returns true for this bag. Throws `BAD_OPTION` if it throws or returns a promise. */
export function isShown(mayShow: MayShow | undefined, bag: Bag | undefined, id: EntityId): bag is Bag {
  if (bag === undefined || mayShow === undefined) return false
  let answer: unknown
  try {
    answer = mayShow(bag, id)
  } catch (cause) {
    if (!reported.has(mayShow)) warn(cause)
    reported.add(mayShow)
    // Without the message of the cause, which may contain values of the bag.
    throw new LooseleafError('BAD_OPTION', 'The mayShow of this console has thrown an error.', { cause })
  }
  if (!isPromise(answer)) return answer === true
  onRejected(answer, () => {})
  throw new LooseleafError(
    'BAD_OPTION',
    `The mayShow of this console has to return true or false, and not a promise; got ${describeKind(answer)}.`,
  )
}

/** Returns the reason why values of an entity are hidden, with the switch that shows them. */
export function hiddenReason(mayShow: MayShow | undefined): string {
  return mayShow === undefined
    ? 'This console shows no values of entities. To show them, start looseleaf console with --values, or pass mayShow to createConsole.'
    : 'The function mayShow, which the application has passed to createConsole, does not return true for it.'
}

/** Longest text that stays on one line: an id or a time with its name. */
const MAX_WHOLE = 48

/** Renders the values of an index row, with line breaks only between values. Undefined stands for hidden values. */
export function keyText(key: readonly InspectedValue[] | undefined): Html {
  if (key === undefined) return markup`<span class="soft">not shown</span>`
  const parts = key.map(
    ({ column, value }, i) =>
      `${column}: ${value === undefined ? 'a long text, stored as its beginning and a digest' : valueText(value)}${i < key.length - 1 ? ',' : ''}`,
  )
  const all = parts.join(' ')
  if (all.length <= MAX_WHOLE) return markup`<code class="whole">${all}</code>`
  return markup`<code>${parts.map((part, i) => markup`${i > 0 ? ' ' : ''}${part.length <= MAX_WHOLE ? markup`<span class="whole">${part}</span>` : part}`)}</code>`
}

export function entityLink(base: string, id: EntityId): Html {
  return markup`<a href="${base}/entity/${id}">${id}</a>`
}

/** Returns the address of the page with the rows of an index's table. */
export function tableAddress(base: string, index: string, tableName: string): string {
  return `${base}/index/${encodeURIComponent(index)}?table=${encodeURIComponent(tableName)}`
}
