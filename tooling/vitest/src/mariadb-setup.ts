import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import type { TestProject } from 'vitest/node'
import { givenServers, skipsMysql } from './test-environment.ts'

/** Base URLs of the servers, or the address that starts them on request. */
export type MysqlOffer = { readonly urls: readonly string[] } | { readonly askAt: string }

declare module 'vitest' {
  export interface ProvidedContext {
    mysql: MysqlOffer
  }
}

const SERVERS = 2

/** State that all projects of a run share. A global, because each project loads this module separately. */
interface Shared {
  users: number
  readonly door: Promise<Door>
}

interface Door {
  readonly askAt: string
  close(): Promise<void>
}

const holder = globalThis as { [shared]?: Shared | undefined }
const shared: unique symbol = Symbol.for('@looseleaf-tooling/vitest/mariadb') as typeof shared

/**
 * Runs once per project, in the process that drives the workers. The first test file that asks for a database
 * starts the servers, once for the whole run.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (skipsMysql) console.warn(`${project.name}: LOOSELEAF_SKIP_MYSQL=1, so *.int.test.ts are SKIPPED.`)
  if (givenServers.length > 0 || skipsMysql) {
    project.provide('mysql', { urls: givenServers })
    return undefined
  }
  const state = (holder[shared] ??= { users: 0, door: openDoor() })
  state.users++
  project.provide('mysql', { askAt: (await state.door).askAt })
  return async () => {
    if (--state.users > 0) return
    holder[shared] = undefined
    await (await state.door).close()
  }
}

/** Serves workers, which are other processes, over HTTP; the path is a secret of this run. */
async function openDoor(): Promise<Door> {
  let servers: Promise<RunningServers> | undefined
  const path = `/${randomUUID()}`
  const door = createServer((request, response) => {
    if (request.url !== path) return void response.writeHead(404).end()
    servers ??= startServers(SERVERS, { inMemory: true })
    servers.then(
      ({ urls }) => response.end(JSON.stringify({ urls })),
      (error: Error) => response.end(JSON.stringify({ failed: error.message })),
    )
  })
  const port = await listen(door)
  return {
    askAt: `http://127.0.0.1:${port}${path}`,
    async close() {
      door.close()
      door.closeAllConnections()
      await servers?.then(
        (running) => running.stop(),
        () => undefined,
      )
    },
  }
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
    server.unref()
  })
}
