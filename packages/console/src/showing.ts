import { describeKind, LooseleafError, onRejected, type Bag, type EntityId, isPromise } from '@looseleaf/core'
import type { InspectedValue } from '@looseleaf/store'
import { markup, type Html } from './html.ts'
import { valueText } from './value-text.ts'

/** Whether the values of an entity may be shown. */
export type MayShow = (bag: Bag, id: EntityId) => boolean

/** Those of whose errors somebody was told: they meet them with every entity. */
const told = new WeakSet<MayShow>()

/** To the application alone, never on a page. */
function warn(error: unknown): void {
  process.emitWarning(`mayShow of a console failed: ${String(error)}`, 'LooseleafWarning')
}

/** Nothing is shown unless the application has said true, and nothing else, of that very bag. */
export function isShown(mayShow: MayShow | undefined, bag: Bag | undefined, id: EntityId): bag is Bag {
  if (bag === undefined || mayShow === undefined) return false
  let answer: unknown
  try {
    answer = mayShow(bag, id)
  } catch (cause) {
    if (!told.has(mayShow)) warn(cause)
    told.add(mayShow)
    // Its message may have something of the bag.
    throw new LooseleafError('BAD_OPTION', 'The mayShow of this console has thrown an error.', { cause })
  }
  if (!isPromise(answer)) return answer === true
  onRejected(answer, () => {})
  throw new LooseleafError(
    'BAD_OPTION',
    `The mayShow of this console has to answer true or false, and not a promise; got ${describeKind(answer)}.`,
  )
}

/** Characters that are not broken where there is room: as many as an id or a time takes with its name. */
const MOST_WHOLE = 48

/** The values of an index row, which is broken between them; undefined where they may not be shown. */
export function keyText(key: readonly InspectedValue[] | undefined): Html {
  if (key === undefined) return markup`<span class="soft">not shown</span>`
  const parts = key.map(
    ({ column, value }, i) =>
      `${column}: ${value === undefined ? 'a long text, kept as its beginning and a digest' : valueText(value)}${i < key.length - 1 ? ',' : ''}`,
  )
  const all = parts.join(' ')
  if (all.length <= MOST_WHOLE) return markup`<code class="whole">${all}</code>`
  return markup`<code>${parts.map((part, i) => markup`${i > 0 ? ' ' : ''}${part.length <= MOST_WHOLE ? markup`<span class="whole">${part}</span>` : part}`)}</code>`
}

export function entityLink(base: string, id: EntityId): Html {
  return markup`<a href="${base}/entity/${id}">${id}</a>`
}

/** The address of the rows of a table of an index. */
export function tableAddress(base: string, index: string, of: string): string {
  return `${base}/index/${encodeURIComponent(index)}?table=${encodeURIComponent(of)}`
}
