"""What the tests of `halley serve` share: a server in a folder of its own, and HTTP by hand.

Everything is raw bytes over sockets, so that requests may be as wrong as tests want."""
import json
import os
import resource
import signal
import socket
import subprocess
import tempfile
import time


def send_until_refused(link, data):
    """Send all, or as much as the server takes: it may answer and hang up before the end."""
    try:
        link.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        pass


class Server:
    """A running server; `with Server(program) as server`. Its folder is removed at the end."""

    def __init__(self, program, *options, folder=None, file_bytes=None):
        self.own = tempfile.TemporaryDirectory(prefix='halley-serve-') if folder is None else None
        self.folder = folder or self.own.name
        self.errors = tempfile.TemporaryFile(mode='w+')
        self.process = subprocess.Popen(
            [program, 'serve', '--port', str(free_port()), '--folder', self.folder, *options],
            stdout=subprocess.PIPE, stderr=self.errors, text=True,
            preexec_fn=None if file_bytes is None else lambda: limit_files(file_bytes))
        line = self.process.stdout.readline().strip()
        if '/?token=' not in line:
            self.errors.seek(0)
            raise SystemExit(f'the server did not start: {line} {self.errors.read()}')
        address, self.token = line.split('/?token=')
        self.host, port = address.removeprefix('http://').split(':')
        self.port = int(port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60)
        self.errors.seek(0)
        errors = self.errors.read()
        self.stop()
        if code != 0:  # also what a sanitizer found
            raise SystemExit(f'the server ended with {code}: {errors}')

    def stop(self, number=signal.SIGTERM):
        """End it; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.errors.close()
        if self.own is not None:
            self.own.cleanup()
        return code

    def connect(self, timeout=30):
        return socket.create_connection((self.host, self.port), timeout=timeout)

    def ask(self, method, path, body=b'', token=None, timeout=60, **headers):
        """Status, headers and body of one exchange."""
        with self.connect(timeout) as link:
            send_until_refused(link, self.head(method, path, len(body), token, **headers) + body)
            return read_answer(link)

    def head(self, method, path, n_body=None, token=None, **headers):
        lines = [f'{method} {path} HTTP/1.1', f'Host: {headers.pop("Host", f"{self.host}:{self.port}")}',
                 'Connection: close']
        if token != '':
            lines.append(f'Authorization: Bearer {token or self.token}')
        if n_body is not None and (n_body > 0 or method == 'POST'):
            lines.append(f'Content-Length: {n_body}')
        lines += [f'{name.replace("_", "-")}: {value}' for name, value in headers.items()]
        return ('\r\n'.join(lines) + '\r\n\r\n').encode('utf-8', 'surrogateescape')

    def request(self, document, **more):
        """The reply of a request, waited for if need be, as bytes."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        status, _, text = self.ask('POST', '/api/request', body, **more)
        if status != 202:
            return text
        return self.follow(json.loads(text)['id'])[1]

    def follow(self, job):
        """Number of events of progress, and the reply, of a job."""
        _, _, text = self.ask('GET', f'/api/events/{job}', timeout=600)
        events = [event for event in text.decode().split('\n\n') if event.startswith('event:')]
        lines = events[-1].split('\n')
        assert lines[0] == 'event: reply', lines[0]
        reply = '\n'.join(line.removeprefix('data: ') for line in lines[1:]) + '\n'
        return len(events) - 1, reply.encode()

    def is_alive(self):
        return json.loads(self.request({'do': 'version'}))['ok']

    def measure(self):
        """Resident memory in kB, threads and descriptors."""
        with open(f'/proc/{self.process.pid}/status', encoding='ascii', errors='replace') as file:
            facts = dict(line.split(':', 1) for line in file if ':' in line)
        return (int(facts['VmRSS'].split()[0]), int(facts['Threads']),
                len(os.listdir(f'/proc/{self.process.pid}/fd')))

    def settle(self, n_threads, seconds=40):
        """Wait until the connections of a test are gone."""
        end = time.time() + seconds
        while self.measure()[1] > n_threads and time.time() < end:
            time.sleep(0.1)
        return self.measure()


def limit_files(n_bytes):
    """No file may grow beyond this, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def read_answer(link):
    """Status, headers and body; the body without its chunks."""
    data = b''
    while piece := link.recv(1 << 20):
        data += piece
    head, _, body = data.partition(b'\r\n\r\n')
    if not head.startswith(b'HTTP/1.1 '):
        return 0, {}, data
    lines = head.decode('latin-1').split('\r\n')
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(':') for line in lines[1:])}
    if headers.get('transfer-encoding') == 'chunked':
        body = join_chunks(body)
    return int(lines[0].split()[1]), headers, body


def join_chunks(data):
    whole = b''
    while data:
        size, _, rest = data.partition(b'\r\n')
        n = int(size, 16)
        whole, data = whole + rest[:n], rest[n + 2:]
        if n == 0:
            break
    return whole
