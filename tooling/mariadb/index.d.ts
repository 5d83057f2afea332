/** Where the database server of this machine is. */
export interface FoundServer {
  /** Path of `mariadbd` or `mysqld`. */
  readonly path: string
  readonly flavor: 'mariadb' | 'mysql'
  /** As the server says it itself, such as `mariadbd  Ver 10.11.6-MariaDB for debian-linux-gnu`. */
  readonly version: string
}

export interface StartOptions {
  /**
   * The data are kept in folders `shard-0`, `shard-1` … of this folder, and found again by the next start with it.
   * Without it they are in a temporary folder, which is removed at the stop.
   */
  readonly folder?: string | undefined
  /** The first port; the others follow. By default free ports are found. */
  readonly portBase?: number | undefined
  /** A database to create on each server; its name is part of the URLs then. */
  readonly database?: string | undefined
  /** More arguments for every server, such as `--innodb-buffer-pool-size=512M`; they win over those of the launcher. */
  readonly serverArguments?: readonly string[] | undefined
  /**
   * The system's user that they run as, where this process is root. Default: root. Of another one the data and all files that
   * the arguments name have to be his.
   */
  readonly user?: string | undefined
  /** More of the environment of every server. */
  readonly environment?: NodeJS.ProcessEnv | undefined
  /** Milliseconds until a server has to answer; 60,000 by default. */
  readonly startTimeoutMs?: number | undefined
}

export interface RunningServers {
  /** `mysql://looseleaf:<password>@127.0.0.1:<port>`, with `/<database>` when one was asked for. */
  readonly urls: readonly string[]
  /** Process ids of the servers, in the order of the URLs. */
  readonly pids: readonly number[]
  /** Resolves when every server is gone, and the temporary folder with it. May be called twice. */
  stop(): Promise<void>
}

/**
 * Starts this many servers that belong to this process: private folders, 127.0.0.1 only, little memory, but a flush at
 * every commit. Resolves when each has answered a query. They end with `stop()`, and also when this process ends in
 * any way without it, SIGKILL included: a process of its own watches over them.
 */
export declare function startServers(count: number, options?: StartOptions): Promise<RunningServers>

/**
 * The server that `startServers` would use, or undefined when this machine has none. LOOSELEAF_MYSQLD=/path names one, of
 * MariaDB or of MySQL; throws when that one cannot be run.
 */
export declare function findServer(): FoundServer | undefined

/** What to tell somebody whose machine has no server: the commands that install one. */
export declare const howToInstall: string

/** A port of 127.0.0.1 that nobody listens at, and that no outgoing connection is given. Others may still take it first. */
export declare function freePort(): Promise<number>

/** Whether a process is there that this one may send a signal to. */
export declare function isAlive(pid: number): boolean
