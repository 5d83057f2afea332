export { memcachedCache, type MemcachedOptions } from './memcached-cache.ts'
