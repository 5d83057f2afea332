import { startFaultProxy, type FaultProxy } from './proxy/fault-proxy.ts'
import type { Server } from './server.ts'
import { isAnswer, type Row } from './session.ts'

/** A server behind a proxy, which may be killed and come back, or give way to another one. */
export interface Shard {
  readonly proxy: FaultProxy
  /** Sends a statement as administrator, past the proxy. Starts a server again that has crashed by itself. */
  admin(statement: string): Promise<Row[]>
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
  /** Starts the server again on the same data; the proxy follows. */
  restart(): Promise<void>
  /** How often the server has ended by itself and was started again. */
  crashes(): number
  /** For somebody with all rights, past the proxy. */
  url(database: string): string
  /** From now on this is the server: those who are connected lose their connections. */
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
        // It may be the connection that is broken, or the server that has crashed by itself, which is a fault as well.
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
