import { createServer } from 'node:http'
import { onTestFinished } from 'vitest'
import type { Console } from '../src/console.ts'

export interface ServedConsole {
  readonly origin: string
  text(path: string): Promise<string>
  /** Submits a form of the page at this path, with its token. Does not follow redirects. */
  act(path: string, fields: Record<string, string>): Promise<Response>
}

/** Serves a console until the end of the test, and then closes it. */
export async function serveConsole(pages: Console): Promise<ServedConsole> {
  const server = createServer((request, response) => void pages.handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    pages.close()
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  return {
    origin,
    text: async (path) => (await fetch(`${origin}${path}`)).text(),
    async act(path, fields) {
      const loaded = await fetch(`${origin}${path}`)
      const cookie = loaded.headers.getSetCookie()[0]?.split(';')[0] ?? ''
      const token = /name="token" value="([^"]+)"/.exec(await loaded.text())?.[1] ?? ''
      const body = new URLSearchParams({ token, ...fields })
      return fetch(`${origin}${path}`, { method: 'POST', headers: { cookie }, body, redirect: 'manual' })
    },
  }
}
