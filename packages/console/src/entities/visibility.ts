import { LooseleafError, type Bag, type EntityId } from '@looseleaf/core'
import { badOption, describeKind, onRejected, isPromise } from '@looseleaf/core/internal'
import type { InspectedValue } from '@looseleaf/store/internal'
import { markup, type Html } from '../kit/html.ts'
import type { MayShow } from '../requests/shown-store.ts'
import { valueText } from './value-text.ts'

/**
 * Returns a `mayShow` that throws `BAD_OPTION` if the given one throws or returns a promise. Its first exception becomes a warning to the
 * application: exceptions usually recur with every entity.
 */
export function checkedMayShow(mayShow: MayShow, onWarning: (message: string) => void): MayShow {
  let isReported = false
  return (bag, id) => {
    let answer: unknown
    try {
      answer = mayShow(bag, id)
    } catch (cause) {
      if (!isReported) onWarning(`mayShow of a console failed: ${String(cause)}`)
      isReported = true
      // Without the message of the cause, which may contain values of the bag and therefore never appears on a page.
      throw new LooseleafError('BAD_OPTION', 'The mayShow of this console has thrown an error.', { cause })
    }
    if (!isPromise(answer)) return answer === true
    onRejected(answer, () => {})
    throw badOption(
      `The mayShow of this console has to return true or false, and not a promise; got ${describeKind(answer)}.`,
    )
  }
}

/** Tells whether `mayShow` allows this bag. */
export function isShown(mayShow: MayShow | undefined, bag: Bag | undefined, id: EntityId): bag is Bag {
  return bag !== undefined && mayShow !== undefined && mayShow(bag, id)
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
