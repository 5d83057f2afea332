import { existsSync } from 'node:fs'
import { cp, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TemporaryFolder } from '@looseleaf-tooling/vitest/temporary-folder'
import { inject } from 'vitest'
import { createApp, type AppOptions } from '../src/app.ts'
import fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify'
import type { Console } from '@looseleaf/console'
import { cleanIndex, memoryShards, sqliteShards, type DriverFactory } from 'looseleaf'
import type { Person } from '../src/kinds/person.ts'
import { offeredIndexes } from '../src/kinds/site-data.ts'
import { openSite, type Site } from '../src/domain/site/site.ts'
import { seedSample } from '../src/day/sample/seed.ts'
import { createStage, type Stage } from '../src/stage/stage.ts'

export interface TestSite {
  readonly app: FastifyInstance
  readonly site: Site
  readonly stage: Stage
  /** Errors that the site answered with a page of status 500. */
  readonly errors: unknown[]
  close(): Promise<void>
}

export interface TestSiteOptions {
  readonly shards?: DriverFactory
  readonly sample?: boolean
  /** If true, the store also gets the offered indexes. */
  readonly offered?: boolean
  readonly origin?: string
  readonly now?: () => Date
  /** Default: false. */
  readonly isLimited?: boolean
  /** True for the strip with live numbers. Default: false. */
  readonly hasStrip?: boolean
  readonly live?: AppOptions['live']
}

/** Signs the cookies of test sites. */
export const SECRET = 'a secret of at least thirty-two bytes'

const FILES = { shards: 2, durability: 'normal' } as const

const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'feed-'))

async function writeSample(): Promise<string> {
  const folder = await newFolder()
  const site = await openSite({ shards: sqliteShards({ folder, ...FILES }), cleaner: false })
  await seedSample(site.data)
  await site.close()
  return folder
}

const ofRun: TemporaryFolder = inject('temporaryFolder')
/** Folder with a store that has the sample and has never been read. Shared by all workers of the run if they share a folder. */
const SAMPLE = join(ofRun ?? (await newFolder()), 'sample')

/** Copies the sample, which takes a second to write, into a folder of its own. */
async function copySample(): Promise<string> {
  if (!existsSync(SAMPLE)) {
    const written = await writeSample()
    // Several workers may write it; the first one stays.
    await rename(written, SAMPLE).catch(() => rm(written, { recursive: true }))
  }
  const folder = await newFolder()
  await cp(SAMPLE, folder, { recursive: true })
  return folder
}

/** Opens a whole site. Default of `shards`: two, in files with the sample and otherwise in memory. */
export async function openTestSite(options: TestSiteOptions = {}): Promise<TestSite> {
  const { sample = true } = options
  const folder = sample && options.shards === undefined ? await copySample() : undefined
  const stage = createStage(
    folder === undefined ? (options.shards ?? memoryShards(2)) : sqliteShards({ folder, ...FILES }),
  )
  const site = await openSite({ ...stage, cleaner: false })
  if (sample) await seedSample(site.data)
  if (options.offered ?? false) await addOffered(site)
  const errors: unknown[] = []
  const onError = (error: unknown): void => void errors.push(error)
  const { origin, now = () => new Date(), isLimited = false, hasStrip = false } = options
  const app = await createApp({
    site,
    stage,
    secret: SECRET,
    origin,
    now,
    isLimited,
    hasStrip,
    ...(options.live && { live: options.live }),
    onError,
    onAct: () => {},
  })
  return {
    app,
    site,
    stage,
    errors,
    async close() {
      // A browser keeps its connections, for which `close` of the app waits.
      app.server.closeAllConnections()
      await app.close()
      await site.close()
      if (folder !== undefined) await rm(folder, { recursive: true })
    },
  }
}

export async function addOffered({ store }: Site): Promise<void> {
  await store.addIndex(offeredIndexes)
  for (const { name } of offeredIndexes) await cleanIndex(store, name)
}

/** Adds people who sign in without a password. */
export function addPeople({ site }: TestSite, names: readonly string[]): Promise<readonly Person[]> {
  return site.data.people.insertMany(
    names.map((name, i) => ({
      name,
      full_name: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
      bio: '',
      hue: i,
      joined: new Date(i),
      sample: true,
    })),
  )
}

let visitors = 0
/** Returns another address for each visitor, so that visitors do not share a rate limit. */
const nextAddress = (): string => `192.0.2.${++visitors % 256}`

/** A browser without scripts: keeps its cookies, and sends forms with the token of their page. */
export interface Visitor {
  get(path: string): Promise<LightMyRequestResponse>
  /** Sends a form with the token of the last page, unless `fields` has one. */
  post(path: string, fields?: Record<string, string>): Promise<LightMyRequestResponse>
  /** Uploads files and follows the redirect. */
  upload(
    path: string,
    files: readonly { name: string; text: string }[],
    fields?: Readonly<Record<string, string>>,
  ): Promise<LightMyRequestResponse>
  signIn(name: string): Promise<LightMyRequestResponse>
  /** Returns the cookie header, for requests made by the test itself. */
  cookie(): string
  token(): string
}

export function createVisitor(app: FastifyInstance, remoteAddress: string = nextAddress()): Visitor {
  const cookies = new Map<string, string>()
  let token = ''
  const cookie = (): string => Array.from(cookies, (pair) => pair.join('=')).join('; ')

  function remember(reply: LightMyRequestResponse): LightMyRequestResponse {
    for (const { name, value } of reply.cookies) {
      if (value === '') cookies.delete(name)
      else cookies.set(name, encodeURIComponent(value))
    }
    token = /name="token" value="([^"]+)"/.exec(reply.body)?.[1] ?? token
    return reply
  }

  const visitor: Visitor = {
    cookie,
    token: () => token,
    get: async (url) => remember(await app.inject({ url, headers: { cookie: cookie() }, remoteAddress })),
    async post(url, fields = {}) {
      const payload = new URLSearchParams({ token, ...fields }).toString()
      const headers = { cookie: cookie(), 'content-type': 'application/x-www-form-urlencoded' }
      return remember(await app.inject({ method: 'POST', url, headers, payload, remoteAddress }))
    },
    async upload(url, files, fields = {}) {
      const form = new FormData()
      form.append('token', token)
      for (const { name, text } of files) form.append('files', new Blob([text]), name)
      for (const [name, value] of Object.entries(fields)) form.append(name, value)
      const { headers, body } = new Request('http://here.invalid', { method: 'POST', body: form })
      const payload = Buffer.from(await new Response(body).arrayBuffer())
      const type = headers.get('content-type') as string
      const sent = { cookie: cookie(), 'content-type': type }
      const reply = remember(await app.inject({ method: 'POST', url, headers: sent, payload, remoteAddress }))
      return reply.statusCode === 303 ? visitor.get(reply.headers.location as string) : reply
    },
    async signIn(name) {
      await visitor.get('/sign-in')
      const reply = await visitor.post('/sign-in', { name, back: '/' })
      await visitor.get('/post')
      return reply
    },
  }
  return visitor
}

/** A browser that looks at pages of a console without the site. */
export interface ConsoleVisitor {
  text(path: string): Promise<string>
  /** Loads the page at this path, and sends a form with its token. */
  act(path: string, fields: Record<string, string>): Promise<LightMyRequestResponse>
}

export function visitConsole(pages: Console): ConsoleVisitor {
  const app = fastify()
  app.addHook('onRequest', (request, reply, done) => {
    if (!pages.handle(request.raw, reply.raw)) return done()
    reply.hijack()
  })
  const visitor = createVisitor(app)
  return {
    text: async (path) => (await visitor.get(path)).body,
    async act(path, fields) {
      await visitor.get(path)
      return visitor.post(path, fields)
    },
  }
}

/** Returns the approximate visible text of a page. */
export function textOf(html: string): string {
  return html
    .replace(/<head>.*?<\/head>/s, ' ')
    .replace(/<[^>]+>/g, '')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
}

/** Returns the number of statements in the foot of a page. */
export function statementsIn(html: string): number {
  return Number(/calls? to the store, in (\d+) statements?/.exec(textOf(html))?.[1])
}
