/** The database server program of this machine. */
export interface FoundServer {
  /** Path of `mariadbd` or `mysqld`. */
  readonly path: string
  readonly flavor: 'mariadb' | 'mysql'
  /** Output of `--version`, such as `mariadbd  Ver 10.11.6-MariaDB for debian-linux-gnu`. */
  readonly version: string
}

export interface StartOptions {
  /**
   * Folder for the data, in subfolders `shard-0`, `shard-1` …; the next start with it finds them again.
   * Default: a temporary folder, which is removed at the stop.
   */
  readonly folder?: string | undefined
  /**
   * True keeps the temporary folder in the memory of the machine if this has room, so a flush takes no time. A
   * kill of the server loses nothing there either.
   */
  readonly inMemory?: boolean | undefined
  /** First port; the others follow. Default: free ports. */
  readonly portBase?: number | undefined
  /** Database to create on each server; its name becomes part of the URLs. */
  readonly database?: string | undefined
  /**
   * Additional arguments of every server, such as `--innodb-buffer-pool-size=512M`; they override the
   * launcher's.
   */
  readonly serverArguments?: readonly string[] | undefined
  /**
   * System user that runs the servers, if this process is root. Default: root. Another user must own the data
   * and all files that the arguments name.
   */
  readonly user?: string | undefined
  /** Additional environment variables of every server. */
  readonly environment?: NodeJS.ProcessEnv | undefined
  /** Milliseconds until a server must answer. Default: 60,000. */
  readonly startTimeoutMs?: number | undefined
}

export interface RunningServers {
  /** `mysql://looseleaf:<password>@127.0.0.1:<port>`, followed by `/<database>` if one was given. */
  readonly urls: readonly string[]
  /** Process ids of the servers, in the order of the URLs. */
  readonly pids: readonly number[]
  /** Resolves when every server and the temporary folder are gone. Idempotent. */
  stop(): Promise<void>
}

/**
 * Starts servers that belong to this process: private folders, 127.0.0.1 only, little memory, but a flush at
 * every commit. Resolves when each has answered a query. The servers end with `stop()`. A supervisor process
 * also ends them if this process ends in any other way, including SIGKILL.
 */
export declare function startServers(count: number, options?: StartOptions): Promise<RunningServers>

/**
 * Returns the server that `startServers` would use; undefined if this machine has none.
 * LOOSELEAF_MYSQLD=/path selects one, of MariaDB or MySQL; throws if that one cannot run.
 */
export declare function findServer(): FoundServer | undefined

/** Commands that install a server, for messages. */
export declare const howToInstall: string

/**
 * Returns a port of 127.0.0.1 without a listener, outside the range of outgoing connections. Another process
 * may still take it first.
 */
export declare function freePort(): Promise<number>

/** Tells whether a process exists that this one may signal. */
export declare function isAlive(pid: number): boolean
