import { Agent, request, type RequestOptions } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshEntry } from '../src/domain/entries/fresh-entry.ts'
import { addService } from '../src/domain/following/commands.ts'
import { addSources } from '../src/domain/sources/add-sources.ts'
import { createVisitor, openTestSite, textOf, type TestSite } from './support.ts'

let site: TestSite
beforeAll(async () => {
  site = await openTestSite()
})
afterAll(() => site.close())

function feed(...titles: string[]): string {
  const items = titles.map(
    (title, i) => `<item><guid>${i}</guid><title>${title}</title><link>/${i}</link></item>`,
  )
  return `<rss version="2.0"><channel><title>Uploaded</title><link>https://example.org/</link>${items.join('')}</channel></rss>`
}

test('an uploaded feed becomes a source of its person, and a second upload writes only changes', async () => {
  const visitor = createVisitor(site.app)
  await visitor.signIn('mira')
  const first = await visitor.upload('/import', [{ name: 'a.xml', text: feed('One', 'Two') }])
  expect(first.statusCode).toBe(200)
  expect(textOf(first.body)).toContain('Uploaded (RSS): 2 new entries.')
  const again = await visitor.upload('/import', [
    { name: 'b.xml', text: feed('One', 'Two, changed', 'Three') },
  ])
  expect(textOf(again.body)).toContain('Uploaded (RSS): 1 new entry, 1 entry updated, 1 entry unchanged.')
  const path = /href="(\/sources\/[^"]+)">Read it/.exec(again.body)?.[1] as string
  const source = textOf((await visitor.get(path)).body)
  expect(source).toContain('3 entries, brought in by Mira Saltmarsh')
  expect(source).toContain('Two, changed')
  expect(textOf((await visitor.get('/people/mira')).body)).toContain('Three')
})

test('a request has five minutes to arrive, so that uploads without an end do not pile up', () => {
  expect(site.app.server.requestTimeout).toBe(5 * 60_000)
})

test('the same feed of two people becomes two separate sources', async () => {
  const tomas = createVisitor(site.app)
  await tomas.signIn('tomas')
  const { body } = await tomas.upload('/import', [{ name: 'a.xml', text: feed('One') }])
  expect(textOf(body)).toContain('Uploaded (RSS): 1 new entry.')
})

test('each of several files has its own result', async () => {
  const visitor = createVisitor(site.app)
  await visitor.signIn('noor')
  const opml = '<opml><body><outline text="A" xmlUrl="https://example.org/a.xml"/></body></opml>'
  const { statusCode, body } = await visitor.upload('/import', [
    { name: '../../<x>.html', text: '<p>no feed</p>' },
    { name: 'list.opml', text: opml },
    { name: 'empty.xml', text: '' },
  ])
  expect(statusCode).toBe(200)
  expect(body).toContain('&lt;x>.html: refused.')
  expect(textOf(body)).toContain('list.opml (OPML): 1 new source.')
  expect(textOf(body)).toContain('empty.xml: refused. The file is empty.')
  expect(textOf((await visitor.get('/sources')).body)).toContain('A Brought in by Noor Tamarind.')
})

test('an imported list of subscriptions is followed as long as the box is ticked', async () => {
  const { data } = site.site
  const [known] = await addSources(data, [{ address: 'https://followed.example/0.xml' }], {
    personId: undefined,
  })
  await data.entries.insert(
    freshEntry({ title: 'Read at once', source_id: known!.id, published: new Date() }, new Date()),
  )
  const list = (...numbers: number[]): { name: string; text: string } => {
    const outlines = numbers.map((i) => `<outline text="S${i}" xmlUrl="https://followed.example/${i}.xml"/>`)
    return { name: 'list.opml', text: `<opml><body>${outlines.join('')}</body></opml>` }
  }
  const visitor = createVisitor(site.app)
  await visitor.signIn('greta')
  expect((await visitor.get('/import')).body).toContain('name="follow" value="yes" checked')
  const unticked = await visitor.upload('/import', [list(0, 1)])
  expect(textOf(unticked.body)).toContain('list.opml (OPML): 1 new source, 1 source already known. See')
  expect(textOf((await visitor.get('/')).body)).not.toContain('Read at once')
  const ticked = await visitor.upload('/import', [list(0, 1)], { follow: 'yes' })
  expect(textOf(ticked.body)).toContain('list.opml (OPML): 2 sources already known, which you follow now.')
  expect(textOf((await visitor.get('/')).body)).toContain('Read at once')
  const both = await visitor.upload('/import', [list(1, 2)], { follow: 'yes' })
  expect(textOf(both.body)).toContain(
    'list.opml (OPML): 1 new source, 1 source already known, all of which you follow now.',
  )
  expect((await visitor.upload('/import', [], { follow: 'yes' })).body).toContain('value="yes" checked')
  expect((await visitor.upload('/import', [])).body).not.toContain('value="yes" checked')
})

test('only its person can undo an import, and entries that others use stay', async () => {
  const [tariq, tomas] = [createVisitor(site.app), createVisitor(site.app)]
  await tariq.signIn('tariq')
  await tomas.signIn('tomas')
  const text = feed('Undo this', 'And this', 'Liked by another').replace('Uploaded', 'By mistake')
  const { body } = await tariq.upload('/import', [{ name: 'a.xml', text }])
  expect(textOf(body)).toContain('By mistake RSS, 3 entries and 1 source')
  const path = /action="(\/imports\/[^"]+)"/.exec(body)?.[1] as string
  const source = /href="(\/sources\/[^"]+)">Read it/.exec(body)?.[1] as string
  const page = (await tariq.get(source)).body
  const liked = /href="(\/entries\/[^"#]+)#comment">Comment<span class="unseen"> on Liked by/.exec(page)?.[1]
  await tomas.post(`${liked}/like`)

  expect(textOf((await tomas.get('/import')).body)).not.toContain('By mistake')
  expect((await tomas.post(path)).statusCode).toBe(404)
  await tariq.get('/import')
  const led = await tariq.post(path)
  expect(led.statusCode).toBe(303)
  const undone = await tariq.get(led.headers.location as string)
  expect(textOf(undone.body)).toContain(
    'Undone: By mistakeDeleted: 2 entries. One entry stays because others have commented on it or like it.',
  )
  expect(textOf((await tariq.get(source)).body)).toContain('1 entry, brought in by')
  expect(textOf((await tariq.get('/people/tariq')).body)).not.toContain('Undo this')
  await tariq.post(path)
  const shown = async (): Promise<string> => textOf((await tariq.get(led.headers.location as string)).body)
  expect(await shown()).toContain('Not undone: By mistakeNothing was deleted. One entry stays')
  await tomas.post(`${liked}/unlike`)
  await tariq.post(path)
  // The notice stays when the page is reloaded.
  for (let i = 0; i < 2; i++) expect(await shown()).toContain('Deleted: 1 entry and 1 source.')
  expect((await tariq.get(source)).statusCode).toBe(404)
  expect((await tariq.post(path)).statusCode).toBe(404)
  expect(textOf((await tariq.get('/import')).body)).not.toContain('By mistake')
})

test('a file that is too large is refused by name', async () => {
  const visitor = createVisitor(site.app)
  await visitor.signIn('noor')
  const { body } = await visitor.upload('/import', [
    { name: 'big.xml', text: ' '.repeat(8 * 1024 * 1024 + 1) },
  ])
  expect(textOf(body)).toContain('big.xml: refused. The file is larger than 8 MB.')
})

test('a form without files, or with more than ten, gets an error message', async () => {
  const visitor = createVisitor(site.app)
  await visitor.signIn('noor')
  const none = await visitor.upload('/import', [])
  expect([none.statusCode, textOf(none.body).includes('Choose at least one file.')]).toEqual([422, true])
  const many = Array.from({ length: 11 }, (_, i) => ({ name: `${i}.xml`, text: feed(`${i}`) }))
  const refused = await visitor.upload('/import', many)
  expect(refused.statusCode).toBe(413)
  expect(textOf(refused.body)).toContain('These are more than 10 files.')
})

test('an upload without a token is refused before its files are read', async () => {
  const visitor = createVisitor(site.app)
  expect((await visitor.upload('/import', [{ name: 'a.xml', text: feed('x') }])).statusCode).toBe(403)
})

test('the site answers while a file is read', async () => {
  const visitor = createVisitor(site.app)
  await visitor.signIn('noor')
  const { parser } = site.site
  const began = Promise.withResolvers<void>()
  const parse: typeof parser.parse = (...args) => {
    const parsed = parser.parse(...args)
    began.resolve()
    return parsed
  }
  Object.assign(site.site, { parser: { ...parser, parse } })
  // Markup without text takes about a second to parse and stores nothing.
  const text = `<rss version="2.0"><channel><title>T</title>${`<item><description><![CDATA[${'<p><b></b></p>'.repeat(110)}]]></description></item>`.repeat(1500)}</channel></rss>`
  const events: string[] = []
  const importing = visitor.upload('/import', [{ name: 'slow.xml', text }]).finally(() => {
    events.push('imported')
  })
  await began.promise
  expect((await createVisitor(site.app).get('/')).statusCode).toBe(200)
  events.push('answered')
  const { body } = await importing
  Object.assign(site.site, { parser })
  expect(events).toEqual(['answered', 'imported'])
  expect(textOf(body)).toContain('slow.xml: refused. The RSS feed has no items that could be shown.')
})

test('a feed with too many attributes is refused with the name of the limit', async () => {
  const visitor = createVisitor(site.app)
  await visitor.signIn('noor')
  const attributes = Array.from({ length: 400_000 }, (_, i) => ` a${i}="1"`).join('')
  const text = `<rss version="2.0"><channel><item${attributes}><title>x</title></item></channel></rss>`
  const { body } = await visitor.upload('/import', [{ name: 'attributes.xml', text }])
  expect(textOf(body)).toContain(
    'attributes.xml: refused. The file has an element of more than 200 attributes.',
  )
})

test.each(['--b\r\ncontent-disposition: form-data; name="token"\r\n\r\nbreaks off', 'no form at all'])(
  'an incomplete form is refused: %j',
  async (payload) => {
    const visitor = createVisitor(site.app)
    await visitor.signIn('mira')
    const headers = { cookie: visitor.cookie(), 'content-type': 'multipart/form-data; boundary=b' }
    const reply = await site.app.inject({ method: 'POST', url: '/import', headers, payload })
    expect(reply.statusCode).toBe(400)
    expect(textOf(reply.body)).toContain('The form arrived incomplete')
  },
)

test('a connection stays usable after an upload that is too large', async () => {
  const visitor = createVisitor(site.app)
  await visitor.signIn('mira')
  const boundary = 'a-boundary'
  const head = (name: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="files"; filename="${name}"\r\n\r\n`
  const body = Array.from({ length: 5 }, (_, i) => `${head(`${i}.xml`)}${'x'.repeat(8 * 1024 * 1024)}\r\n`)
  const token = `--${boundary}\r\ncontent-disposition: form-data; name="token"\r\n\r\n${visitor.token()}\r\n`
  const url = await site.app.listen({ port: 0, host: '127.0.0.1' })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { cookie: visitor.cookie(), 'content-type': `multipart/form-data; boundary=${boundary}` }
  const upload = await ask(url, { agent, method: 'POST', path: '/import', headers }, [token, ...body])
  expect(upload.status).toBe(413)
  expect(upload.text).toContain('larger than 32 MB')
  const next = await ask(url, { agent, path: '/people' }, [])
  expect(next.status).toBe(200)
  expect(next.localPort).toBe(upload.localPort)
  agent.destroy()
})

/** Sends one request with its body in pieces. Returns the port of the client's socket, which shows whether the connection is reused. */
function ask(
  url: string,
  options: RequestOptions,
  pieces: readonly string[],
): Promise<{ status: number | undefined; text: string; localPort: number | undefined }> {
  return new Promise((resolve, reject) => {
    const sent = request(url + (options.path ?? ''), options, (reply) => {
      let text = ''
      reply.setEncoding('utf8')
      reply.on('data', (chunk: string) => (text += chunk))
      const localPort = sent.socket?.localPort
      reply.on('end', () => resolve({ status: reply.statusCode, text, localPort }))
    })
    sent.on('error', reject)
    sent.end(pieces.join(''))
  })
}

test('a profile names the latest of many services, and links to all', async () => {
  const visitor = createVisitor(site.app)
  await visitor.signIn('oskar')
  const titles = Array.from({ length: 6 }, (_, i) => `Service ${i}`)
  const { data } = site.site
  const oskar = (await data.people.byName.first({ name: 'oskar' }))?.id ?? ''
  for (const [i, title] of titles.entries()) {
    const source = await data.sources.insert({ title, about: '', known_as: [title], added: new Date() })
    await addService(data, oskar, source.id, new Date(Date.now() - 1_000 + i))
  }
  await visitor.upload('/import', [
    { name: 'a.xml', text: feed('Only here').replace('Uploaded', 'Imported file') },
    {
      name: 'b.opml',
      text: '<opml><body><outline text="Not a service" xmlUrl="https://listed.example/f.xml"/></body></opml>',
    },
  ])
  for (const path of ['/people/oskar', '/people/oskar/likes']) {
    const profile = textOf((await visitor.get(path)).body)
    const [, few = '', more] = /Brings in (.*?) and (\d+) more/.exec(profile) ?? []
    expect(few.split(', ')).toEqual(['Imported file', 'Service 5', 'Service 4', 'Service 3', 'Service 2'])
    expect(Number(more)).toBeGreaterThanOrEqual(2)
  }
  const { body } = await visitor.get('/people/oskar/sources')
  const links = body.matchAll(/<a class="name" href="\/sources\/[^"]+"><bdi>([^<]+)/g)
  const shown = Array.from(links, ([, title]) => title)
  expect(shown).toEqual(expect.arrayContaining(['Imported file', ...titles]))
  expect(shown).not.toContain('Not a service')
  expect(textOf((await visitor.get('/people/oskar')).body)).toContain('Only here')
})

test('a source without a site shows the address of its feed', async () => {
  const visitor = createVisitor(site.app)
  await visitor.signIn('noor')
  const text = '<opml><body><outline text="No site" xmlUrl="https://no-site.example/f.xml"/></body></opml>'
  await visitor.upload('/import', [{ name: 'b.opml', text }])
  const { body } = await visitor.get('/sources')
  const path = /href="(\/sources\/[^"]+)"><bdi>No site/.exec(body)?.[1] as string
  expect((await visitor.get(path)).body).toContain('href="https://no-site.example/f.xml"')
})

test('the description of a source ends with a full stop before the next sentence', async () => {
  const visitor = createVisitor(site.app)
  await visitor.signIn('noor')
  const outline = (i: number, about: string): string =>
    `<outline text="About ${i}" description="${about}" xmlUrl="https://about.example/${i}.xml"/>`
  const text = `<opml><body>${outline(1, 'Of paper')}${outline(2, 'Why paper?')}</body></opml>`
  await visitor.upload('/import', [{ name: 'b.opml', text }])
  const page = textOf((await visitor.get('/sources')).body)
  expect(page).toContain('About 1Of paper. Brought in by')
  expect(page).toContain('About 2Why paper? Brought in by')
})
