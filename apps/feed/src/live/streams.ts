import { AsyncLocalStorage } from 'node:async_hooks'
import type { ServerResponse } from 'node:http'
import { isLooseleafError } from 'looseleaf'
import { isOutage, SKIP, Unreadable } from '../domain/site/partial-reads.ts'
import type { ReadPulse } from '../domain/site/pulse.ts'
import type { Site } from '../domain/site/site.ts'
import { stripTexts } from '../ui/frame/strip.tsx'
import { startTopic, type Topic } from './topics.ts'

/** Largest numbers of open streams. A page beyond them has no live arrival. */
export interface StreamLimits {
  readonly perProcess: number
  /** Tabs of a browser share a stream; a browser that cannot share opens one per tab. */
  readonly perSession: number
  /** Visitors without a session who share an address, or a network of IPv6. */
  readonly perAddress: number
}

export const STREAM_LIMITS: StreamLimits = { perProcess: 1000, perSession: 4, perAddress: 50 }

export interface StreamsOptions {
  readonly site: Pick<Site, 'store' | 'data' | 'pulledLists'>
  /** Default: `STREAM_LIMITS`. */
  readonly limits?: StreamLimits
  /** Milliseconds between two signs of life, which also end the streams of ended sessions. Default: 15,000. */
  readonly aliveMs?: number
  /** Reads the numbers of the strip above the pages, which all streams send every two seconds. Default: the site has no strip. */
  readonly readPulse?: ReadPulse | undefined
  /** Called with errors that end streams. Browsers connect again. */
  readonly onError: (error: unknown) => void
}

/** Receiver of a stream. */
export interface Receiver {
  /** Undefined for a visitor who is not signed in. */
  readonly session: { readonly id: string; readonly personId: string } | undefined
  readonly address: string
}

export interface Streams {
  /** Returns true if one more stream is within the limits. False after `close`. */
  hasRoom(receiver: Receiver): boolean
  /** Sends events by this response, after its head, until either side ends it. */
  open(receiver: Receiver, response: ServerResponse): void
  /** Ends all streams. */
  close(): Promise<void>
}

interface Stream {
  readonly receiver: Receiver
  readonly response: ServerResponse
  /** The state that was sent last. */
  sent: string
}

interface OpenTopic {
  readonly topic: Topic
  readonly streams: Set<Stream>
}

/** Milliseconds between two events with the numbers of the strip. */
const PULSE_MS = 2_000

/** A response with so many bytes in memory belongs to a browser that does not read. */
const MAX_WAITING_BYTES = 64 * 1024

/** Keeps the open streams of this process. All streams of a person share one watch, and so do all visitors. */
export function createStreams(options: StreamsOptions): Streams {
  const { site, limits = STREAM_LIMITS, aliveMs = 15_000, readPulse, onError } = options
  const topics = new Map<string | undefined, OpenTopic>()
  const holders = new Map<string, number>()
  const all = new Set<Stream>()
  // A stream lives for hours, and would otherwise add all of its calls to the trace of its request.
  const outsideRequest = AsyncLocalStorage.snapshot()
  let timers: readonly NodeJS.Timeout[] = []
  let isClosed = false

  function topicOf(personId: string | undefined): OpenTopic {
    const known = topics.get(personId)
    if (known !== undefined && !known.topic.signal.aborted) return known
    const streams = new Set<Stream>()
    const topic = startTopic({
      site,
      personId,
      send: (state) => send(streams, state),
      onEnd(error) {
        if (topics.get(personId)?.streams === streams) topics.delete(personId)
        for (const { response } of streams) response.end()
        report(error)
      },
    })
    const opened = { topic, streams }
    topics.set(personId, opened)
    return opened
  }

  /** Sends a state to the streams to which it is new, if their sessions have not ended. */
  async function send(streams: ReadonlySet<Stream>, state: string): Promise<void> {
    const behind = [...streams].filter(({ sent }) => sent !== state)
    const { alive, unread } = await checkSessions(behind)
    for (const stream of alive) {
      stream.sent = state
      write(stream, `data: ${state}\n\n`)
    }
    if (unread > 0) throw new Unreadable('session')
  }

  /** Ends the streams whose sessions have ended. Returns those whose sessions go on, and the number of sessions that could not be read. */
  async function checkSessions(
    streams: readonly Stream[],
  ): Promise<{ readonly alive: readonly Stream[]; readonly unread: number }> {
    const ids = new Set(streams.flatMap(({ receiver }) => receiver.session?.id ?? []))
    const { items, unread } = await site.data.sessions.getMany([...ids], SKIP)
    const known = new Set<string>(items.flatMap((session) => session?.id ?? []))
    const unknown = new Set<string>(unread)
    const alive = streams.filter(({ receiver: { session }, response }) => {
      if (session === undefined || known.has(session.id)) return true
      // The browser does not connect again after this event. Another check may have ended the stream meanwhile.
      if (!unknown.has(session.id) && !response.writableEnded) response.end('event: end\ndata:\n\n')
      return false
    })
    return { alive, unread: unread.length }
  }

  async function showLife(): Promise<void> {
    await checkSessions([...all]).catch(report)
    for (const stream of all) write(stream, ':\n\n')
  }

  function startTimers(): readonly NodeJS.Timeout[] {
    const life = setInterval(() => void showLife(), aliveMs)
    return readPulse === undefined ? [life] : [life, setInterval(() => showPulse(readPulse), PULSE_MS)]
  }

  function showPulse(read: ReadPulse): void {
    const text = `data: ${JSON.stringify({ strip: stripTexts(read()) })}\n\n`
    for (const stream of all) write(stream, text)
  }

  function report(error: unknown): void {
    const isStop = error === undefined || isLooseleafError(error, 'CLOSED')
    if (!isStop && !isOutage(error)) onError(error)
  }

  function write({ response }: Stream, text: string): void {
    if (response.writableLength > MAX_WAITING_BYTES) response.destroy()
    else if (!response.writableEnded) response.write(text)
  }

  function open(receiver: Receiver, response: ServerResponse): void {
    // The browser has left while its session was read, so the response does not close any more.
    if (response.destroyed) return
    const personId = receiver.session?.personId
    const holder = holderOf(receiver)
    const known = topics.get(personId)
    const { topic, streams } = topicOf(personId)
    const stream: Stream = { receiver, response, sent: '' }
    streams.add(stream)
    all.add(stream)
    holders.set(holder, (holders.get(holder) ?? 0) + 1)
    if (timers.length === 0) timers = startTimers()
    // Without a listener, an error of one connection would end the process. Its `close` follows.
    response.on('error', () => response.destroy())
    response.once('close', () => {
      streams.delete(stream)
      all.delete(stream)
      const count = (holders.get(holder) ?? 1) - 1
      if (count === 0) holders.delete(holder)
      else holders.set(holder, count)
      if (streams.size === 0) void topic.stop()
      if (all.size > 0) return
      for (const timer of timers) clearInterval(timer)
      timers = []
    })
    // Browsers that lose the site together do not return together.
    write(stream, `retry: ${2000 + Math.floor(Math.random() * 4000)}\n\n`)
    // A new topic sends its first state by itself.
    if (topic === known?.topic) topic.refresh()
  }

  return {
    hasRoom(receiver) {
      if (isClosed) return false
      const most = receiver.session === undefined ? limits.perAddress : limits.perSession
      return all.size < limits.perProcess && (holders.get(holderOf(receiver)) ?? 0) < most
    },
    open: (receiver, response) => outsideRequest(open, receiver, response),
    async close() {
      isClosed = true
      const stopped = Array.from(topics.values(), ({ topic }) => topic.stop())
      for (const { response } of all) response.end()
      await Promise.all(stopped)
    },
  }
}

function holderOf({ session, address }: Receiver): string {
  return session === undefined ? `address ${address}` : `session ${session.id}`
}
