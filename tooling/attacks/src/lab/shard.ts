import { startFaultProxy, type FaultProxy } from './proxy/fault-proxy.ts'
import type { Server } from './server.ts'
import { isAnswer, type Row } from './session.ts'

/** A server behind a proxy that can be killed, restarted, or replaced. */
export interface Shard {
  readonly proxy: FaultProxy
  /** Sends a statement as administrator, past the proxy. Restarts a server that has crashed by itself. */
  admin(statement: string): Promise<Row[]>
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
  /** SIGSTOP: it keeps its connections and stops answering. */
  freeze(): void
  /** SIGCONT. */
  thaw(): void
  /** Starts the server again on the same data; the proxy follows. */
  restart(): Promise<void>
  /** Number of crashes after which the server was restarted. */
  crashes(): number
  /** Returns a URL with all rights, past the proxy. */
  url(database: string): string
  /** Replaces the server; existing connections are closed. */
  moveTo(server: Server): void
  /** Closes the proxy. */
  stop(): Promise<void>
}

export async function startShard(first: Server): Promise<Shard> {
  let server = first
  let crashes = 0
  let isKilled = false
  const port = (): number => Number(server.url.port)
  const proxy = await startFaultProxy(port())

  async function restart(): Promise<void> {
    await server.restart()
    isKilled = false
    proxy.setTarget(port())
  }

  return {
    proxy,
    restart,
    async admin(statement) {
      try {
        return await server.ask(statement)
      } catch (error) {
        // Either the connection broke, or the server crashed by itself, which is a fault too.
        if (isAnswer(error) || isKilled || server.isAlive()) throw error
        crashes++
        await restart()
        return server.ask(statement)
      }
    },
    async kill() {
      isKilled = true
      await server.kill()
    },
    freeze: () => server.freeze(),
    thaw: () => server.thaw(),
    crashes: () => crashes,
    url(database) {
      const { url } = server
      url.pathname = `/${database}`
      return url.href
    },
    moveTo(next) {
      server = next
      isKilled = false
      proxy.setTarget(port())
      proxy.resetAll()
    },
    stop: () => proxy.close(),
  }
}
