import type { Sample } from '../sample/sample-types.ts'
import { createDice, type Dice } from './dice.ts'

/** An act of the day. Its time is in milliseconds from the beginning. */
export type Act = { readonly at: number } & (
  | {
      readonly kind: 'item'
      readonly source: number
      readonly title: string
      readonly body: string
      readonly tags: readonly string[]
      readonly media: string | undefined
    }
  | { readonly kind: 'post'; readonly person: number; readonly title: string }
  /** `back` counts the entries of the day from the latest one. */
  | { readonly kind: 'comment'; readonly person: number; readonly back: number; readonly text: string }
  | { readonly kind: 'like'; readonly person: number; readonly back: number }
)

export interface TimelineOptions {
  readonly seed: number
  readonly seconds: number
  readonly people: number
  readonly sources: number
  /** Acts of each kind in a second. */
  readonly rates: Readonly<Record<Act['kind'], number>>
}

const TAGS = ['bread', 'trains', 'fog', 'gardens', 'radio', 'tides', 'maps', 'knots', 'clouds', 'tea']

/** Writes the script of a day: which source publishes, who posts, comments and likes, and when. The same seed writes the same script. */
export function writeTimeline(sample: Sample, options: TimelineOptions): readonly Act[] {
  const { seed, seconds, people, sources, rates } = options
  const dice = createDice(seed)
  const material = materialOf(sample)
  const acts: Act[] = []
  const add = (kind: Act['kind'], make: (at: number) => Act): void => {
    for (let at = pause(dice, rates[kind]); at < seconds * 1_000; at += pause(dice, rates[kind]))
      acts.push(make(Math.round(at)))
  }
  add('item', (at) => ({
    at,
    kind: 'item',
    source: dice.below(sources),
    ...dice.pick(material.items),
    tags: [dice.pick(TAGS)],
    media: dice.next() < 0.1 ? `/media/${at}.${dice.next() < 0.5 ? 'mp3' : 'jpg'}` : undefined,
  }))
  add('post', (at) => ({ at, kind: 'post', person: dice.low(people), title: dice.pick(material.messages) }))
  add('comment', (at) => ({
    at,
    kind: 'comment',
    person: dice.below(people),
    back: dice.low(40),
    text: dice.pick(material.comments),
  }))
  add('like', (at) => ({ at, kind: 'like', person: dice.below(people), back: dice.low(40) }))
  return acts.toSorted((a, b) => a.at - b.at)
}

/** Returns milliseconds to the next act of a kind, as between people who do not know of each other. */
function pause(dice: Dice, perSecond: number): number {
  return (-Math.log(1 - dice.next()) / perSecond) * 1_000
}

function materialOf({ entries }: Sample): {
  readonly items: readonly { readonly title: string; readonly body: string }[]
  readonly messages: readonly string[]
  readonly comments: readonly string[]
} {
  return {
    items: entries
      .filter(({ source }) => source !== undefined)
      .map(({ title, body = '' }) => ({ title, body })),
    messages: entries
      .filter(({ source, link }) => source === undefined && link === undefined)
      .map(({ title }) => title),
    comments: entries.flatMap(({ comments = [] }) => comments.map(([, text]) => text)),
  }
}
