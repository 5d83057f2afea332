import { setTimeout as sleep } from 'node:timers/promises'
import type { Site } from '../../domain/site/site.ts'
import { importedEntryId } from '../../kinds/ids.ts'
import type { Publisher } from '../publishers/publisher.ts'
import type { Act } from '../script/timeline.ts'
import type { Answer, Browser } from './browser.ts'
import type { Crew } from '../crew/crew.ts'
import type { Traffic } from './traffic.ts'

/** An entry that a publisher published, or a person sent. */
export interface MadeEntry {
  readonly id: string
  /** Its person, for a message. */
  readonly person: string | undefined
  /** Its source, for an item of a feed. */
  readonly source: string | undefined
  /** False for a message whose form was not answered: it may exist. */
  isAcknowledged: boolean
}

/** An answer to an entry that a person sent. */
export interface MadeAnswer {
  readonly entryId: string
  /** Id of the comment; for a like, of its person. */
  readonly id: string
  isAcknowledged: boolean
}

/** All that was made during a day. */
export interface Made {
  readonly entries: MadeEntry[]
  readonly comments: MadeAnswer[]
  readonly likes: MadeAnswer[]
}

export interface PlayOptions {
  readonly acts: readonly Act[]
  readonly crew: Pick<Crew, 'people' | 'sources'>
  readonly url: string
  /** Browsers of the people who post, in the order of the crew. */
  readonly browsers: readonly Browser[]
  readonly publishers: readonly Publisher[]
  readonly site: Pick<Site, 'store'>
  readonly traffic: Traffic
  /** Items that were published before. */
  readonly made: Made
  /** Distinguishes the items of this run from those of earlier ones of the same publishers. Default: there was none. */
  readonly edition?: string
}

/** Plays the script of a day: each act at its time, however long others take. Ends when all acts have ended, and rejects when the run ends before. */
export async function play(options: PlayOptions): Promise<void> {
  const start = performance.now()
  const running = new Set<Promise<void>>()
  for (const act of options.acts) {
    await sleep(Math.max(0, start + act.at - performance.now()), undefined, {
      signal: options.traffic.signal,
    })
    const acting: Promise<void> = perform(act, options).finally(() => running.delete(acting))
    running.add(acting)
  }
  await Promise.all(running)
}

async function perform(act: Act, options: PlayOptions): Promise<void> {
  if (act.kind === 'item') return publish(act, options)
  const { crew, browsers, url, site, traffic, made } = options
  const person = crew.people[act.person] as string
  const browser = browsers[act.person] as Browser
  if (act.kind === 'post') {
    const id = site.store.newId({ near: person })
    const entry = { id, person, source: undefined, isAcknowledged: false }
    made.entries.push(entry)
    const fields = { title: act.title, link: '', once: id }
    const answer = await traffic.send('post', 303, () => browser.post(`${url}/post`, fields), person)
    entry.isAcknowledged = answer !== undefined
    return
  }
  const known = made.entries.filter(
    ({ person: author, isAcknowledged }) => author !== undefined && isAcknowledged,
  )
  const about = known.at(-1 - act.back)
  if (about === undefined) return
  const entryId = about.id
  const path = `${url}/entries/${entryId}`
  if (act.kind === 'comment') {
    const id = site.store.newId({ near: entryId })
    const comment = { entryId, id, isAcknowledged: false }
    made.comments.push(comment)
    const fields = { text: act.text, once: id }
    const send = (): Promise<Answer> => browser.post(`${path}/comments`, fields)
    const answer = await traffic.send('comment', 303, send, person)
    comment.isAcknowledged = answer !== undefined
    return
  }
  const like = { entryId, id: person, isAcknowledged: false }
  made.likes.push(like)
  const send = (): Promise<Answer> => browser.post(`${path}/like`, { back: '/' })
  const answer = await traffic.send('like', 303, send, person)
  like.isAcknowledged = answer !== undefined
}

async function publish(act: Extract<Act, { kind: 'item' }>, options: PlayOptions): Promise<void> {
  const { title, body, tags, media } = act
  const number = `${options.edition ?? ''}${options.made.entries.length}`
  publishItem(options, act.source, {
    guid: `item ${number}`,
    title,
    body,
    tags,
    media,
    path: `/items/${number}`,
  })
}

type Publishing = Pick<PlayOptions, 'publishers' | 'crew' | 'made' | 'edition'>

/** Publishes the first item of each publisher. */
export function publishFirst(publishing: Publishing): void {
  const { publishers, edition = '' } = publishing
  for (const number of publishers.keys()) {
    publishItem(publishing, number, {
      guid: `first ${edition}${number}`,
      title: 'Good morning',
      body: '',
      path: `/first/${edition}`,
      tags: [],
      media: undefined,
    })
  }
}

/** Publishes an item, and notes the id that its entry will have. */
function publishItem(
  { publishers, crew, made }: Publishing,
  number: number,
  item: Omit<Parameters<Publisher['publish']>[0], 'published'>,
): void {
  const source = crew.sources[number] as string
  publishers[number]?.publish({ ...item, published: new Date() })
  made.entries.push({
    id: importedEntryId(source, item.guid),
    person: undefined,
    source,
    isAcknowledged: true,
  })
}
